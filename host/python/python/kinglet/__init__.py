"""Full-scale TCP/IPv6 over IEEE 802.15.4, simulated: runs, experiments and sweeps.

>>> import kinglet
>>> run = kinglet.run("office.toml", seed=7)
>>> run.flows[["kind", "goodput_kbps"]]
>>> rows = kinglet.sweep("line.toml", {"tcp.ack_every": [1, 2]}, seeds=range(1, 11))
"""

from . import lab
from ._native import __version__
from ._run import Run, Scenario, run
from ._sweep import sweep
from .errors import Interrupted, JournalError, RunError, ScenarioError

__all__ = [
    "Interrupted",
    "JournalError",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "__version__",
    "lab",
    "run",
    "sweep",
]
