"""Executors for the parts of a sweep: an executor of this machine, Dask or Ray."""

from __future__ import annotations

import concurrent.futures as cf
import functools
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from . import _native
from .errors import JournalError, RunError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from distributed import Client

P = ParamSpec("P")
T = TypeVar("T")

Points = list[tuple[int, int]]
"""Points of a sweep with seeds."""


@functools.lru_cache(maxsize=4)
def _part(sent: str) -> _native.Part:
    return _native.Part(sent)


def run_part(sent: str, runs: Points) -> list[str]:
    """Runs a part of a sweep where it is called; gives the rows of each run as JSON."""
    part = _part(sent)
    return [part.run(point, seed) for point, seed in runs]


class Lost(Exception):
    """An executor has failed: the cause is what it has raised."""


def asked(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls an executor. What it raises by itself, and no run has, is :class:`Lost`."""
    try:
        return call(*args, **kwargs)
    except (JournalError, RunError, ScenarioError):
        raise
    except Exception as error:
        name = type(error).__name__
        first, _, _ = str(error).partition("\n")
        raise Lost(f"the executor has failed ({name}: {first})") from error


class Executor(Protocol):
    """Interface of an executor of sweeps."""

    def slots(self) -> int:
        """Number of parts that run at once."""

    def submit(self, sent: str, runs: Points) -> Any:
        """Has a part run; gives what stands for its result."""

    def wait(self, waiting: Collection[Any]) -> Iterable[Any]:
        """Waits until some of these have ended; gives those."""

    def result(self, ended: Any) -> list[str]:
        """Result of a part that has ended."""

    def cancel(self, waiting: Collection[Any]) -> None:
        """Gives up what has not begun."""


class Futures:
    """An executor of ``concurrent.futures``, or one like it."""

    def __init__(self, executor: cf.Executor) -> None:
        self._executor = executor

    def slots(self) -> int:
        return int(getattr(self._executor, "_max_workers", 1))

    def submit(self, sent: str, runs: Points) -> cf.Future[list[str]]:
        return self._executor.submit(run_part, sent, runs)

    def wait(self, waiting: Collection[Any]) -> Iterable[Any]:
        return cf.wait(waiting, return_when=cf.FIRST_COMPLETED).done

    def result(self, ended: Any) -> list[str]:
        rows: list[str] = ended.result()
        return rows

    def cancel(self, waiting: Collection[Any]) -> None:
        for future in waiting:
            future.cancel()


class Dask:
    """The workers of a Dask cluster. It gives the parts of a worker that has died to others."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def slots(self) -> int:
        return int(max(1, sum(self._client.nthreads().values())))

    def submit(self, sent: str, runs: Points) -> Any:
        # A part is never the same as another one; hashing it would cost more than sending it.
        return self._client.submit(run_part, sent, runs, pure=False)

    def wait(self, waiting: Collection[Any]) -> Iterable[Any]:
        from distributed import wait

        return set(wait(list(waiting), return_when="FIRST_COMPLETED").done)

    def result(self, ended: Any) -> list[str]:
        rows: list[str] = ended.result()
        return rows

    def cancel(self, waiting: Collection[Any]) -> None:
        self._client.cancel(list(waiting))


class Ray:
    """The workers of a Ray cluster. It gives the parts of a worker that has died to others."""

    def __init__(self) -> None:
        import ray

        self._ray = ray
        if not ray.is_initialized():
            ray.init(log_to_driver=False)
        self._run = ray.remote(run_part)

    def slots(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, sent: str, runs: Points) -> Any:
        return self._run.remote(sent, runs)

    def wait(self, waiting: Collection[Any]) -> Iterable[Any]:
        return list(self._ray.wait(list(waiting), num_returns=1)[0])

    def result(self, ended: Any) -> list[str]:
        rows: list[str] = self._ray.get(ended)
        return rows

    def cancel(self, waiting: Collection[Any]) -> None:
        for reference in waiting:
            self._ray.cancel(reference)


def of(executor: object) -> Executor:
    """The executor that a user has named or given."""
    if executor == "dask":
        from distributed import get_client

        try:
            return Dask(get_client())
        except ValueError:
            from distributed import Client

            return Dask(Client())
    if executor == "ray":
        return Ray()
    if isinstance(executor, cf.Executor):
        return Futures(executor)
    if type(executor).__module__.partition(".")[0] == "distributed":
        return Dask(executor)
    message = f"{executor!r} is no executor: give 'local', 'dask', 'ray', a Dask client or an executor"
    raise TypeError(f"{message} of concurrent.futures")
