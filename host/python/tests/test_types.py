"""What type checkers see."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_package_and_tests_are_typed() -> None:
    command = [sys.executable, "-m", "mypy", "-p", "kinglet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    command = [sys.executable, "-m", "mypy", "host/python/tests"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
