from collections.abc import Callable
from os import PathLike
from typing import Any

__version__: str

def unit(name: str) -> str: ...
def run(
    file: str | PathLike[str],
    json: str | None,
    seed: int | None,
    pcap: str | PathLike[str] | None,
    trace: str | PathLike[str] | None,
    timeline_s: tuple[float, float] | None,
    samples: bool,
    cwnd: bool,
) -> tuple[int, str]: ...
def experiments() -> list[tuple[str, str, str, str]]: ...
def run_experiment(
    id: str, quick: bool, seeds: int | None, first_seed: int, jobs: int
) -> tuple[str, bool]: ...
def advise(
    file: str | PathLike[str],
    json: str | None,
    objective: str,
    budget: int | None,
    runs: int,
    confirmations: int,
    journal: str | PathLike[str] | None,
    program: str | PathLike[str],
    jobs: int,
    progress: Callable[[int, int], object],
) -> str: ...

class Session:
    def __init__(
        self,
        file: str | PathLike[str],
        json: str | None,
        fields: list[tuple[str, str]],
        seeds: list[int] | None,
        journal: str | PathLike[str] | None,
        program: str | PathLike[str],
    ) -> None: ...
    def sent(self) -> str: ...
    def __len__(self) -> int: ...
    def pending(self) -> list[tuple[str, int, int]]: ...
    def put(self, key: str, rows: str) -> None: ...
    def run(self, jobs: int, progress: Callable[[int, int], object]) -> None: ...
    def close(self) -> None: ...
    def table(self) -> list[tuple[str, str, str, list[Any]]]: ...

class Part:
    def __init__(self, sent: str) -> None: ...
    def run(self, point: int, seed: int) -> str: ...
