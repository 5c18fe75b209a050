"""Which settings serve a scenario best."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from . import _native
from ._run import Scenario, source

Objective = Literal["goodput", "energy", "latency", "reliability"]


@dataclass(frozen=True)
class Advice:
    """The advice and its evidence."""

    result: dict[str, Any]
    """The output of ``kinglet advise --json``."""

    @property
    def before(self) -> float:
        """The objective with the scenario's own settings, by seeds on which nothing was chosen."""
        return float(self.result["before"])

    @property
    def after(self) -> float:
        """The same with the advice."""
        return float(self.result["after"])

    @property
    def unit(self) -> str:
        """The unit of both."""
        return str(self.result["unit"])

    @property
    def changes(self) -> pd.DataFrame:
        """A row for each setting to change, what is worth most first.

        ``worth`` is what is lost if it alone is taken back, as a share, with the half width of its 95 %
        interval in ``worth_ci95``; ``sure`` is how probable it is that it is worth more than nothing. All
        three are missing where the other changes are impossible without it.
        """
        rows = [
            {
                "setting": change["name"],
                "before": change["before"],
                "after": change["after"],
                "worth": (change["worth"] or {}).get("mean"),
                "worth_ci95": (change["worth"] or {}).get("ci95"),
                "sure": (change["worth"] or {}).get("sure"),
            }
            for change in self.result["changes"]
        ]
        columns = ["setting", "before", "after", "worth", "worth_ci95", "sure"]
        frame = pd.DataFrame(rows, columns=columns)
        frame.attrs["units"] = {"worth": "1", "worth_ci95": "1", "sure": "1"}
        return frame

    @property
    def toml(self) -> str:
        """The changes as a part of a scenario."""
        return str(self.result["toml"])

    @property
    def rust(self) -> str:
        """Settings for a device: a profile and its node's configuration."""
        return str(self.result["rust"])


def advise(
    scenario: Scenario,
    objective: Objective = "goodput",
    *,
    budget: int | None = None,
    runs: int = 600,
    confirm: int = 10,
    jobs: int | None = None,
    journal: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Advice:
    """Seeks settings for a scenario as ``kinglet advise`` does.

    ``budget`` is what the buffers of one node's connections may take, in octets; ``runs`` how many
    simulations the race may take, at least 60; ``confirm`` how many held-out seeds confirm, at least 2;
    ``jobs`` how many threads are used (one for each core).

    Finished simulations are in ``journal``: after Ctrl-C, or with another objective, the same call goes on
    from there. Raises :class:`~kinglet.ScenarioError`, :class:`~kinglet.JournalError`, and ``ValueError`` if
    there is nothing to measure, nothing to set, or no room.
    """
    if runs < 60 or confirm < 2:
        raise ValueError(f"runs = {runs} and confirm = {confirm}: at least 60 and 2 are needed")
    file, text = source(scenario)
    tell = progress or (lambda finished, planned: None)
    found = _native.advise(
        file, text, objective, budget, runs, confirm, journal, _native.__file__, jobs or 0, tell
    )
    return Advice(json.loads(found))
