"""Sweeps: one scenario, fields of it with lists of values, and seeds."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from . import _executors, _frames, _native
from ._run import Scenario, source
from .errors import ExecutorError, Interrupted

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from distributed import Client

Progress = Callable[[int, int], object]
"""Called with finished and planned runs."""

# A part that takes this long costs little to send, and loses little when its worker dies.
_PART_S = 0.5
# Parts that wait at the workers for each that is run, so that none of them has nothing to do.
_AHEAD = 2
_MOST_RUNS = 500


def sweep(
    base: Scenario,
    fields: Mapping[str, Sequence[Any]],
    *,
    seeds: Iterable[int] | None = None,
    executor: Literal["local", "dask", "ray"] | Client | Executor = "local",
    jobs: int | None = None,
    journal: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Simulates ``base`` with every combination of values of ``fields`` and every seed.

    Fields are dotted paths (``"tcp.ack_every"``; entries of ``[[flow]]`` count from 0:
    ``"flow.0.bytes"``). Without ``seeds`` the scenario's own is the only one. The frame has a row for
    each run and flow, by fields and seed, the same whoever executes it; units are in
    ``attrs["units"]``.

    ``executor`` is ``"local"`` (``jobs`` threads of this process, one for each core), ``"dask"``, a
    Dask client, ``"ray"``, or an executor of ``concurrent.futures``. A run of a Dask or Ray worker
    that dies is done by another one.

    ``journal`` names a file that has every finished run; what is in it is not run again. A full disk
    is one :class:`~kinglet.JournalError` and loses nothing of it. Ctrl-C is
    :class:`~kinglet.Interrupted`, whose ``rows`` are finished, and so is a cluster that is gone as a
    whole :class:`~kinglet.ExecutorError`. What is wrong with a field is a
    :class:`~kinglet.ScenarioError` before anything runs.
    """
    file, text = source(base)
    values = [(name, json.dumps(list(list_), allow_nan=False)) for name, list_ in fields.items()]
    chosen = None if seeds is None else [int(seed) for seed in seeds]
    session = _native.Session(file, text, values, chosen, journal, _native.__file__)
    tell = progress or (lambda finished, planned: None)
    try:
        if isinstance(executor, str) and executor == "local":
            session.run(jobs or 0, tell)
        else:
            _elsewhere(session, _executors.of(executor), tell)
    except KeyboardInterrupt:
        raise Interrupted(_frames.of_columns(session.table())) from None
    except _executors.Lost as lost:
        rows = _frames.of_columns(session.table())
        left = f"{len(session.pending())} of {len(session)} runs are not finished"
        kept = "the others are in `rows`" if journal is None else f"the others are in {journal}"
        raise ExecutorError(f"{lost}; {left}, {kept}", rows) from lost.__cause__
    finally:
        session.close()
    return _frames.of_columns(session.table())


def _elsewhere(session: _native.Session, executor: _executors.Executor, progress: Progress) -> None:
    """Has parts of the sweep run by others, as long as they should be by what they have taken."""
    sent, left = session.sent(), session.pending()
    planned, finished = len(left), 0
    left.reverse()
    asked = _executors.asked
    slots = asked(executor.slots)
    waiting: dict[Any, list[str]] = {}
    length, began = 1, time.monotonic()
    try:
        while left or waiting:
            while left and len(waiting) < slots * (1 + _AHEAD):
                # The last parts are short, so that all workers end at about the same time.
                share = max(1, min(length, len(left) // (slots * (1 + _AHEAD))))
                part = [left.pop() for _ in range(share)]
                future = asked(executor.submit, sent, [(point, seed) for _, point, seed in part])
                waiting[future] = [key for key, _, _ in part]
            for ended in asked(executor.wait, waiting):
                for key, rows in zip(waiting.pop(ended), asked(executor.result, ended), strict=True):
                    session.put(key, rows)
                    finished += 1
            progress(finished, planned)
            each_s = (time.monotonic() - began) * slots / finished
            length = max(1, min(_MOST_RUNS, int(_PART_S / each_s)))
    finally:
        # An executor that is gone cannot give up anything.
        with contextlib.suppress(_executors.Lost):
            asked(executor.cancel, waiting)
