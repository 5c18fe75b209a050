"""Results as frames with units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from . import _native

# Columns without absent values keep the plain type, which everything reads.
_WITH_ABSENT = {"whole": "Int64", "flag": "boolean"}


def of_columns(columns: Iterable[tuple[str, str, str, list[Any]]]) -> pd.DataFrame:
    """A frame of columns with their units."""
    series: dict[str, pd.Series[Any]] = {}
    units: dict[str, str] = {}
    for name, unit, kind, values in columns:
        if kind == "number":
            series[name] = pd.Series(values, dtype="float64")
        elif None in values:
            series[name] = pd.Series(values, dtype=_WITH_ABSENT.get(kind, "object"))
        else:
            series[name] = pd.Series(values)
        if unit:
            units[name] = unit
    frame = pd.DataFrame(series)
    frame.attrs["units"] = units
    return frame


def of_records(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """A frame of what JSON has, the parts of a table in columns of their own."""
    frame = pd.json_normalize(list(records))
    names = [str(name) for name in frame.columns]
    frame.attrs["units"] = {name: unit for name in names if (unit := _native.unit(name))}
    return frame
