"""The same sweeps on clusters of two workers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import kinglet

distributed = pytest.importorskip("distributed")

FIELDS: dict[str, list[Any]] = {"tcp.send_buffer_segments": [1, 4], "flow.0.from": [1, 2]}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def test_dask_gives_the_same_rows(client: Any, line: dict[str, Any]) -> None:
    here = kinglet.sweep(line, FIELDS, seeds=range(1, 6))
    pd.testing.assert_frame_equal(here, kinglet.sweep(line, FIELDS, seeds=range(1, 6), executor=client))
    pd.testing.assert_frame_equal(here, kinglet.sweep(line, FIELDS, seeds=range(1, 6), executor="dask"))


def test_a_worker_that_dies_loses_nothing(client: Any, line: dict[str, Any]) -> None:
    slow = {**line, "duration_s": 300}
    here = kinglet.sweep(slow, FIELDS, seeds=range(1, 16))
    pids = list(client.run(os.getpid).values())
    told: list[int] = []

    def kill() -> None:
        while not told:
            time.sleep(0.01)
        os.kill(pids[0], signal.SIGKILL)

    threading.Thread(target=kill).start()
    rows = kinglet.sweep(
        slow, FIELDS, seeds=range(1, 16), executor=client, progress=lambda done, _: told.append(done)
    )
    assert pids[0] not in client.run(os.getpid).values(), "it was killed"
    assert told[0] < 60, "it was killed before the end"
    pd.testing.assert_frame_equal(here, rows)


def test_a_cluster_that_is_gone_is_one_error_and_what_was_finished_is_kept(
    line: dict[str, Any], tmp_path: Path
) -> None:
    begin = """
import distributed, time
if __name__ == "__main__":
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""
    script = tmp_path / "cluster.py"
    script.write_text(begin)
    command = [sys.executable, str(script)]
    cluster = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert cluster.stdout
    client = distributed.Client(cluster.stdout.readline().strip(), set_as_default=False)
    slow = {**line, "duration_s": 300}
    journal = tmp_path / "gone.journal"

    def kill(_: int, __: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(cluster.pid, signal.SIGKILL)

    with pytest.raises(kinglet.ExecutorError, match=r"runs are not finished.*gone\.journal") as raised:
        kinglet.sweep(slow, FIELDS, seeds=range(1, 16), executor=client, journal=journal, progress=kill)
    with contextlib.suppress(TimeoutError):
        client.close(timeout=1)
    assert raised.value.__cause__ is not None
    finished = raised.value.rows
    assert 0 < len(finished) < 60
    told: list[tuple[int, int]] = []
    rows = kinglet.sweep(
        slow, FIELDS, seeds=range(1, 16), journal=journal, progress=lambda *both: told.append(both)
    )
    assert told[-1][1] == 60 - len(finished), "what is finished is not run again"
    pd.testing.assert_frame_equal(rows, kinglet.sweep(slow, FIELDS, seeds=range(1, 16)))


def test_a_pool_that_is_broken_is_the_same_error(line: dict[str, Any]) -> None:
    slow = {**line, "duration_s": 300}
    with ProcessPoolExecutor(2) as pool:
        [pid, *_] = pool.map(_pid, range(2))
        told: list[int] = []

        def kill(done: int, _: int) -> None:
            told.append(done)
            if len(told) == 1:
                os.kill(pid, signal.SIGKILL)

        with pytest.raises(kinglet.ExecutorError, match="BrokenProcessPool"):
            kinglet.sweep(slow, FIELDS, seeds=range(1, 16), executor=pool, progress=kill)


def _pid(_: int) -> int:
    return os.getpid()


def test_ray_gives_the_same_rows_also_if_a_worker_dies(line: dict[str, Any]) -> None:
    ray = pytest.importorskip("ray")
    here = kinglet.sweep(line, FIELDS, seeds=[1, 2])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        pd.testing.assert_frame_equal(here, kinglet.sweep(line, FIELDS, seeds=[1, 2], executor="ray"))
        slow = {**line, "duration_s": 300}
        here = kinglet.sweep(slow, FIELDS, seeds=range(1, 16))
        killed: list[int] = []

        def kill(done: int, _: int) -> None:
            if not killed:
                killed.append(done)
                # Between two parts a process has another name.
                while not (workers := _ray_workers()):
                    time.sleep(0.01)
                os.kill(workers[0], signal.SIGKILL)

        rows = kinglet.sweep(slow, FIELDS, seeds=range(1, 16), executor="ray", progress=kill)
        assert killed[0] < 60, "it was killed before the end"
        pd.testing.assert_frame_equal(here, rows)
    finally:
        ray.shutdown()


def _ray_workers() -> list[int]:
    """Processes that run parts."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"ray::run_part" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found
