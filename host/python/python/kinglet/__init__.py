"""Full-scale TCP/IPv6 over IEEE 802.15.4, simulated: runs, experiments, sweeps and advice.

>>> import kinglet
>>> run = kinglet.run("office.toml", seed=7)
>>> run.flows[["kind", "goodput_kbps"]]
>>> rows = kinglet.sweep("line.toml", {"tcp.ack_every": [1, 2]}, seeds=range(1, 11))
>>> print(kinglet.advise("line.toml", "energy").toml)
"""

from . import lab
from ._advise import Advice, advise
from ._native import __version__
from ._run import Run, Scenario, run
from ._sweep import sweep
from .errors import ExecutorError, Interrupted, JournalError, RunError, ScenarioError

__all__ = [
    "Advice",
    "ExecutorError",
    "Interrupted",
    "JournalError",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "__version__",
    "advise",
    "lab",
    "run",
    "sweep",
]
