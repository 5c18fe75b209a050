"""One run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from . import _native
from ._frames import of_records

Scenario = str | os.PathLike[str] | Mapping[str, Any]
"""A scenario file, or what stands in one as a mapping."""


def source(scenario: Scenario) -> tuple[str, str | None]:
    """File and text of a scenario; a mapping has a stand-in for the file, from which paths count."""
    if isinstance(scenario, Mapping):
        return "scenario", json.dumps(scenario, allow_nan=False)
    return os.fspath(scenario), None


@dataclass(frozen=True, repr=False)
class Run:
    """Results of a run. Every frame has its units in ``attrs["units"]``."""

    seed: int
    result: dict[str, Any]
    """The output of ``kinglet sim --json``."""
    pcap: Path | None
    """The capture, if one was asked for."""
    trace: Path | None
    """The trace of events, if one was asked for."""

    def __repr__(self) -> str:
        """One line; the frames and ``result`` have the values."""
        flows, nodes = self.result["flows"], self.result["nodes"]
        dead = sum(flow["state"] == "dead" for flow in flows)
        return (
            f"Run(seed={self.seed}: {self.result['sim_seconds']:g} s, {len(nodes)} nodes, "
            f"{len(flows)} flows, {dead} dead)"
        )

    @property
    def flows(self) -> pd.DataFrame:
        """A row for each application. ``state`` is complete, open, waiting or dead; a dead flow has
        its reason in ``explanation``."""
        return of_records(self.result["flows"])

    @property
    def reasons(self) -> pd.DataFrame:
        """Why frames and packets were lost: a row for each node, layer and reason that occurred."""
        rows = [
            {"id": node["id"], "layer": layer, "reason": reason, "count": count}
            for node in self.result["nodes"]
            for layer, reasons in node["reasons"].items()
            for reason, count in reasons.items()
        ]
        return pd.DataFrame(rows, columns=["id", "layer", "reason", "count"])

    @property
    def losses(self) -> pd.DataFrame:
        """Relations to other nodes that a node has lost (parent, registration, neighbour, ...): a row
        for each reason that the node counted in the 10 to 20 s before, and one without layer, reason
        and count if it counted none. ``result["losses_omitted"]`` counts those after the first 1,000.
        """
        rows = [
            {
                "at_s": loss["at_s"],
                "node": loss["node"],
                "relation": loss["relation"],
                "address": loss["address"],
                "layer": layer,
                "reason": reason,
                "count": count,
            }
            for loss in self.result.get("losses", [])
            for layer, reason, count in [
                (layer, reason, count)
                for layer, reasons in loss["reasons"].items()
                for reason, count in reasons.items()
            ]
            or [(None, None, None)]
        ]
        columns = ["at_s", "node", "relation", "address", "layer", "reason", "count"]
        frame = pd.DataFrame(rows, columns=columns).astype({"count": "Int64"})
        frame.attrs["units"] = {"at_s": "s"}
        return frame

    @property
    def nodes(self) -> pd.DataFrame:
        """A row for each node; :attr:`reasons` has its reasons for lost packets."""
        rows = [{k: v for k, v in node.items() if k != "reasons"} for node in self.result["nodes"]]
        return of_records(rows).set_index("id")

    @property
    def ledger(self) -> pd.DataFrame:
        """Radio time of each node by state, in seconds."""
        frame = pd.DataFrame([node["radio_s"] for node in self.result["nodes"]])
        frame.index.name = "id"
        frame.attrs["units"] = dict.fromkeys(frame.columns, "s")
        return frame

    @property
    def samples(self) -> pd.DataFrame:
        """Values of every second, if requested."""
        return of_records(self.result.get("samples", []))

    @property
    def cwnd(self) -> pd.DataFrame:
        """Congestion windows in octets, if they were asked for."""
        frame = of_records(self.result.get("cwnd", []))
        frame.attrs["units"] |= {"cwnd": "octets", "ssthresh": "octets"}
        return frame

    @property
    def timeline(self) -> pd.DataFrame:
        """Activity of the radios, if it was asked for."""
        return of_records(self.result.get("timeline", []))


def run(
    scenario: Scenario,
    seed: int | None = None,
    *,
    pcap: str | os.PathLike[str] | None = None,
    trace: str | os.PathLike[str] | None = None,
    timeline_s: tuple[float, float] | None = None,
    samples: bool = False,
    cwnd: bool = False,
) -> Run:
    """Simulates a scenario once, with the seed that it says unless another is given.

    ``pcap`` and ``trace`` name files to write every frame and every event to; ``timeline_s``, from
    when to when, ``samples`` and ``cwnd`` ask for those frames of the result.

    Raises :class:`~kinglet.ScenarioError` and :class:`~kinglet.RunError`. Other threads of Python go
    on meanwhile, and Ctrl-C ends it; files end where it was then.
    """
    file, text = source(scenario)
    used, result = _native.run(file, text, seed, pcap, trace, timeline_s, samples, cwnd)
    return Run(
        seed=used,
        result=json.loads(result),
        pcap=None if pcap is None else Path(pcap),
        trace=None if trace is None else Path(trace),
    )
