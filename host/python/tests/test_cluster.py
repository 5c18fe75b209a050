"""The same sweeps on clusters of two workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
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


def test_ray_gives_the_same_rows(line: dict[str, Any]) -> None:
    ray = pytest.importorskip("ray")
    here = kinglet.sweep(line, FIELDS, seeds=[1, 2])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        pd.testing.assert_frame_equal(here, kinglet.sweep(line, FIELDS, seeds=[1, 2], executor="ray"))
    finally:
        ray.shutdown()
