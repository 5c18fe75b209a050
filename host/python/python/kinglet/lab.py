"""Published experiments, repeated."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pandas as pd

from . import _native
from .errors import Interrupted

__all__ = ["Experiment", "experiments", "run"]


@dataclass(frozen=True)
class Experiment:
    """Results of an experiment."""

    rows: pd.DataFrame
    """A row for each point and metric: mean, 95 % interval, bound and the paper's figure, with the
    unit of that row in ``unit``."""
    claims: pd.DataFrame
    """A row for each claim with its verdict."""


def experiments() -> pd.DataFrame:
    """Experiments that can be repeated, by id."""
    columns = ["id", "title", "source", "question"]
    return pd.DataFrame(_native.experiments(), columns=columns).set_index("id")


def run(
    id: str,
    *,
    quick: bool = False,
    seeds: int | None = None,
    first_seed: int = 1,
    jobs: int | None = None,
) -> Experiment:
    """Runs an experiment as ``kinglet lab run`` does, in ``jobs`` threads (one for each core).

    ``quick`` has shorter simulations. Raises ``KeyError`` for an id that does not exist, and on
    Ctrl-C :class:`~kinglet.Interrupted`, whose ``rows`` are of the points that were finished.
    """
    text, interrupted = _native.run_experiment(id, quick, seeds, first_seed, jobs or 0)
    document = json.loads(text)
    [result] = document["experiments"]
    rows = pd.DataFrame(result["rows"])
    rows.attrs["units"] = dict.fromkeys(["mean", "ci95", "bound", "paper"], "see `unit`")
    if interrupted:
        raise Interrupted(rows)
    return Experiment(rows=rows, claims=pd.DataFrame(document["claims"]))
