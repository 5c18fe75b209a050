"""Runs and experiments."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import kinglet

SCENARIOS = Path(__file__).parents[2] / "lab/scenarios"


def test_a_run_has_frames_with_units(line: dict[str, Any]) -> None:
    run = kinglet.run(line, seed=3, samples=True, cwnd=True, timeline_s=(0, 2))
    assert run.seed == 3
    assert run.flows.attrs["units"]["goodput_kbps"] == "kb/s"
    assert run.flows.loc[0, "kind"] == "tcp-bulk"
    assert list(run.nodes.index) == [0, 1, 2]
    assert run.nodes.attrs["units"]["duty_cycle"] == "share"
    assert list(run.ledger.columns) == ["poll", "listen", "send", "receive", "retry", "control"]
    assert run.ledger.sum(axis=1).max() <= 2.0
    assert len(run.samples) >= 2
    assert list(run.cwnd.columns) == ["flow", "at_s", "cwnd", "ssthresh"]
    assert {"transmit", "receive"} <= set(run.timeline["kind"])


def test_a_run_says_in_a_line_whether_flows_are_dead_and_what_was_lost(
    line: dict[str, Any],
) -> None:
    nowhere = {"kind": "coap-client", "from": 0, "to": 2, "pause_ms": 100}
    run = kinglet.run({**line, "flow": [*line["flow"], nowhere]})
    assert repr(run).endswith("3 nodes, 2 flows, 1 dead)") and len(repr(run)) < 80
    assert list(run.flows["state"]) == ["open", "dead"]
    assert "no flow of the scenario listens" in list(run.flows["explanation"])[1]
    assert list(run.flows["segment_loss"].isna()) == [False, True]
    lost = run.reasons.set_index(["id", "layer", "reason"])["count"]
    assert lost[(2, "net", "port")] > 0


def test_a_lost_relation_has_a_row_for_each_reason_counted_before(line: dict[str, Any]) -> None:
    assert kinglet.run(line).losses.empty
    away = {"kind": "partition", "nodes": [2], "from_s": 30, "to_s": 60}
    flow = {"kind": "udp-periodic", "from": 2, "to": 0}
    mesh = {"duration_s": 60, "net": {"routing": "mesh"}, "fault": [away], "flow": [flow]}
    losses = kinglet.run({**line, **mesh}).losses
    assert set(losses["node"]) == {2} and set(losses["relation"]) == {"parent"}
    counted = losses.set_index(["layer", "reason"])["count"]
    assert counted[("mac", "no_ack")] > 0
    assert 30 < losses["at_s"].iloc[0] < 45 and losses.attrs["units"]["at_s"] == "s"


def test_the_same_seed_is_the_same_run_from_a_file_and_from_a_mapping(
    line: dict[str, Any], tmp_path: Path
) -> None:
    flow = '[[flow]]\nkind = "tcp-bulk"\nfrom = 1\nto = 0\n'
    file = tmp_path / "line.toml"
    file.write_text(f"duration_s = 2\n[topology]\nline = {{ hops = 2 }}\n{flow}")
    assert kinglet.run(file).flows.equals(kinglet.run(line).flows)
    assert not kinglet.run(file).flows.equals(kinglet.run(line, seed=2).flows)


def test_old_names_are_read_with_a_warning(line: dict[str, Any], tmp_path: Path) -> None:
    old, new = ({**line, "tcp": {name: True}} for name in ("window_by_distance", "window_by_hops"))
    with pytest.warns(FutureWarning, match="`tcp.window_by_distance` is an old name") as warned:
        run = kinglet.run(old)
    assert len(warned) == 1 and run.flows.equals(kinglet.run(new).flows)
    file = tmp_path / "old.toml"
    flow = '[[flow]]\nkind = "tcp-bulk"\nfrom = 1\nto = 0\n'
    file.write_text(f'duration_s = 2\ntopology.line.hops = 2\ntcp.rto = "distance"\n{flow}')
    with pytest.warns(FutureWarning, match=r"old.toml:3: .*`kinglet upgrade .*` rewrites it"):
        kinglet.run(file)
    with pytest.warns(FutureWarning, match="`tcp.window_by_distance` is an old name"):
        frame = kinglet.sweep(line, {"tcp.window_by_distance": [True, False]}, seeds=[1])
    assert list(frame["tcp.window_by_hops"]) == [True, False]


def test_captures_and_traces_are_files(line: dict[str, Any], tmp_path: Path) -> None:
    run = kinglet.run(line, pcap=tmp_path / "a.pcap", trace=tmp_path / "a.txt")
    for file in (run.pcap, run.trace):
        assert file is not None and file.stat().st_size > 1_000


def test_what_is_wrong_has_file_line_and_nearest_key(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text("[topology]\nline = { hops = 1 }\n[mac]\nretry_dely_ms = 40\n")
    with pytest.raises(kinglet.ScenarioError) as caught:
        kinglet.run(file)
    # As it comes from a worker.
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert (error.file, error.line, error.column) == (str(file), 4, 1)
        assert (error.field, error.nearest) == ("mac.retry_dely_ms", "retry_delay_ms")
        assert str(error).startswith(f"{file}:4:1: mac.retry_dely_ms: unknown key")


def test_a_mapping_has_fields_but_no_lines(line: dict[str, Any]) -> None:
    with pytest.raises(kinglet.ScenarioError, match="did you mean `nagle`") as caught:
        kinglet.run({**line, "tcp": {"nagel": True}})
    assert (caught.value.field, caught.value.line) == ("tcp.nagel", None)
    with pytest.raises(kinglet.RunError, match="TCP buffer"):
        kinglet.run({**line, "tcp": {"send_buffer_bytes": 1_000_000}})


def test_ctrl_c_ends_a_run_and_other_threads_go_on_meanwhile(line: dict[str, Any]) -> None:
    turns = 0

    def press() -> None:
        nonlocal turns
        while turns < 20:
            time.sleep(0.01)
            turns += 1
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        kinglet.run({**line, "duration_s": 10_000_000})
    assert turns == 20
    assert time.monotonic() - began < 20


def test_an_experiment_has_rows_and_claims() -> None:
    assert "tcplp-cwnd" in kinglet.lab.experiments().index
    found = kinglet.lab.run("tcplp-cwnd", quick=True, seeds=1)
    assert {"label", "x", "metric", "unit", "mean"} <= set(found.rows.columns)
    assert "tcplp.fig6a.cwnd" in set(found.claims["id"])
    with pytest.raises(KeyError, match="did you mean tcplp-cwnd"):
        kinglet.lab.run("tcplp-cwn")


def test_ctrl_c_keeps_what_an_experiment_has_finished() -> None:
    def press() -> None:
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(kinglet.Interrupted) as caught:
        kinglet.lab.run("tcplp-hops", seeds=200, jobs=1)
    assert isinstance(caught.value.rows, pd.DataFrame)
