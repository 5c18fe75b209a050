"""Advice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kinglet


@pytest.fixture
def lossy(line: dict[str, Any]) -> dict[str, Any]:
    """Two hops that lose a frame in ten, and nodes that never repeat one."""
    return {**line, "duration_s": 10, "mac": {"max_frame_retries": 0}, "medium": {"frame_loss": 0.1}}


def test_what_is_wrong_is_found_and_kept(lossy: dict[str, Any], tmp_path: Path) -> None:
    journal = tmp_path / "kept.advice"
    told: list[tuple[int, int]] = []
    advice = kinglet.advise(
        lossy, runs=120, confirm=4, journal=journal, progress=lambda *both: told.append(both)
    )
    assert advice.after > advice.before
    assert advice.unit == "kb/s"
    [retries] = advice.changes.query("setting == 'mac.max_frame_retries'").to_dict("records")
    assert retries["before"] == "0"
    assert retries["worth"] > 0
    assert "max_frame_retries" in advice.toml
    assert advice.rust.startswith("kinglet::profile!")
    assert told[-1][0] > 60
    size = journal.stat().st_size
    assert kinglet.advise(lossy, runs=120, confirm=4, journal=journal, jobs=1) == advice
    assert journal.stat().st_size == size, "nothing is simulated again"


def test_what_cannot_be_advised_is_said(line: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="did you mean energy"):
        kinglet.advise(line, "enrgy")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 60"):
        kinglet.advise(line, runs=10)
    with pytest.raises(ValueError, match="nothing to measure"):
        kinglet.advise({**line, "flow": []}, runs=60)
    with pytest.raises(kinglet.ScenarioError, match="hops"):
        kinglet.advise({**line, "topology": {"line": {"hop": 2}}})
