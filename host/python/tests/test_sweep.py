"""Sweeps on this machine."""

from __future__ import annotations

import concurrent.futures as cf
import multiprocessing
import os
import resource
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import kinglet

FIELDS: dict[str, list[Any]] = {"tcp.send_buffer_segments": [1, 4], "flow.0.from": [1, 2]}


def test_a_sweep_has_a_row_for_each_run_and_its_units(line: dict[str, Any]) -> None:
    rows = kinglet.sweep(line, FIELDS, seeds=range(1, 4))
    assert len(rows) == 12
    assert list(rows.columns[:4]) == [*FIELDS, "seed", "flow"]
    assert rows.attrs["units"]["goodput_kbps"] == "kb/s"
    assert list(rows["seed"][:4]) == [1, 2, 3, 1]
    assert rows["retransmissions"].dtype == "int64"
    assert rows["intact"].dtype == "bool"


def test_threads_and_processes_give_the_same_rows(line: dict[str, Any]) -> None:
    one = kinglet.sweep(line, FIELDS, seeds=[1, 2], jobs=1)
    pd.testing.assert_frame_equal(one, kinglet.sweep(line, FIELDS, seeds=[1, 2], jobs=3))
    # A fork would have the threads of this process.
    context = multiprocessing.get_context("spawn")
    with cf.ProcessPoolExecutor(2, mp_context=context) as pool:
        pd.testing.assert_frame_equal(one, kinglet.sweep(line, FIELDS, seeds=[1, 2], executor=pool))
    with cf.ThreadPoolExecutor(2) as threads:
        pd.testing.assert_frame_equal(one, kinglet.sweep(line, FIELDS, seeds=[1, 2], executor=threads))


def test_a_wrong_field_is_told_before_anything_runs(line: dict[str, Any]) -> None:
    endless = {**line, "duration_s": 10_000_000}
    with pytest.raises(kinglet.ScenarioError) as caught:
        kinglet.sweep(endless, {"tcp.ack_every": [1], "tcp.ack_dely_ms": [1]})
    assert (caught.value.field, caught.value.nearest) == ("tcp.ack_dely_ms", "ack_delay_ms")
    with pytest.raises(kinglet.ScenarioError, match="9 is out of range"):
        kinglet.sweep(endless, {"mac.max_be": [4, 9]})
    with pytest.raises(TypeError, match="no executor"):
        kinglet.sweep(line, FIELDS, executor="dusk")


def test_ctrl_c_keeps_what_is_finished(line: dict[str, Any], tmp_path: Path) -> None:
    journal = tmp_path / "j.journal"
    slow = {**line, "duration_s": 1_000}

    def press() -> None:
        while not journal.exists() or journal.read_bytes().count(b"\n") < 4:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    seeds = range(1, 6)
    with pytest.raises(kinglet.Interrupted) as caught:
        kinglet.sweep(slow, FIELDS, seeds=seeds, journal=journal, jobs=1)
    kept = len(caught.value.rows)
    assert 3 <= kept < 20
    told: list[tuple[int, int]] = []
    rows = kinglet.sweep(slow, FIELDS, seeds=seeds, journal=journal, progress=lambda *done: told.append(done))
    assert told[-1][1] == 20 - kept, "nothing finished is run again"
    pd.testing.assert_frame_equal(rows, kinglet.sweep(slow, FIELDS, seeds=seeds))


def test_ctrl_c_ends_what_others_run_as_well(line: dict[str, Any]) -> None:
    slow = {**line, "duration_s": 300}

    def press(finished: int, _: int) -> None:
        if finished >= 3:
            signal.raise_signal(signal.SIGINT)

    with cf.ThreadPoolExecutor(2) as pool, pytest.raises(kinglet.Interrupted) as caught:
        kinglet.sweep(slow, FIELDS, seeds=range(1, 10), executor=pool, progress=press)
    assert 3 <= len(caught.value.rows) < 36


def test_a_full_disk_is_one_error_and_loses_nothing(line: dict[str, Any], tmp_path: Path) -> None:
    journal = tmp_path / "j.journal"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        with pytest.raises(kinglet.JournalError, match="goes on from it"):
            kinglet.sweep(line, FIELDS, seeds=range(9), journal=journal)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    kept = journal.read_bytes()
    assert kept.endswith(b"\n") and kept.count(b"\n") > 1
    rows = kinglet.sweep(line, FIELDS, seeds=range(9), journal=journal)
    assert journal.read_bytes().startswith(kept)
    pd.testing.assert_frame_equal(rows, kinglet.sweep(line, FIELDS, seeds=range(9)))
