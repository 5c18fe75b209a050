"""What tests share."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def line() -> dict[str, Any]:
    """A transfer over two hops, two seconds long."""
    return {
        "duration_s": 2,
        "topology": {"line": {"hops": 2}},
        "flow": [{"kind": "tcp-bulk", "from": 1, "to": 0}],
    }
