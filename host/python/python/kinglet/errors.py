"""Exceptions of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ExecutorError", "Interrupted", "JournalError", "RunError", "ScenarioError"]


class ScenarioError(ValueError):
    """A scenario or a sweep that cannot be used: where the fault is and what would be right.

    ``line`` and ``column`` count from 1, and are ``None`` for what stands in no file. ``field`` is the
    dotted path of the key, ``nearest`` the valid key or word that was probably meant, if there is one.
    """

    def __init__(
        self,
        message: str,
        file: str,
        line: int | None = None,
        column: int | None = None,
        field: str = "",
        nearest: str | None = None,
    ) -> None:
        # All of them: what comes from a worker was pickled there.
        super().__init__(message, file, line, column, field, nearest)
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.field = field
        self.nearest = nearest

    def __str__(self) -> str:
        return self.message


class RunError(RuntimeError):
    """A simulation that cannot be done, or whose files cannot be written."""


class JournalError(OSError):
    """A journal that cannot be written, is damaged, or is of another build of kinglet."""


class ExecutorError(RuntimeError):
    """Those who execute a sweep are gone, or cannot. ``rows`` are those of what was finished.

    The exception of the executor is the cause (``__cause__``).
    """

    def __init__(self, message: str, rows: pd.DataFrame) -> None:
        super().__init__(message, rows)
        self.message = message
        self.rows = rows

    def __str__(self) -> str:
        return self.message


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a sweep or an experiment. ``rows`` are those of what was finished."""

    def __init__(self, rows: pd.DataFrame) -> None:
        super().__init__(f"{len(rows)} rows are finished")
        self.rows = rows
