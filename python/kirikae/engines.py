"""Engines: who computes the batches of a sweep.

An engine is anything with `map(function, batches)` that yields what the function gives for each of the batches, in
any order and as soon as it is there.
"""

import contextlib
import os
import pickle
import queue
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from typing import Any, Protocol

from ._kirikae import Error
from .batches import Batch, Failed, Result

# How often a batch is begun whose workers die.
TRIES = 3

Run = Callable[[Batch], Result]


class Engine(Protocol):
    """What computes batches."""

    def map(self, function: Run, batches: Sequence[Batch], /) -> Iterable[Result]:
        """Yields the result of each batch as it comes, and cares for workers that die."""


class Threads:
    """Threads of this process: as many as there are cores, or `workers`."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = _count(workers)

    def map(self, function: Run, batches: Sequence[Batch], /) -> Iterator[Result]:
        with ThreadPoolExecutor(self.workers) as threads:
            yield from Futures(threads).map(function, batches)


class Futures:
    """An executor of `concurrent.futures`, or of others that is like these. `engine_of` makes it of one."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def map(self, function: Run, batches: Sequence[Batch], /) -> Iterator[Result]:
        futures = [self.executor.submit(function, batch) for batch in batches]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


class Processes:
    """Processes of their own on this machine: as many as there are cores, or `workers`.

    One that dies is replaced, and its batch is begun again, three times in all. All of them end with this process.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = _count(workers)

    def map(self, function: Run, batches: Sequence[Batch], /) -> Iterator[Result]:
        workers = [_Worker(function) for _ in range(self.workers)]
        idle = queue.SimpleQueue[_Worker]()
        for worker in workers:
            idle.put(worker)

        def run(batch: Batch) -> Result:
            worker = idle.get()
            try:
                return worker.run(batch)
            finally:
                idle.put(worker)

        try:
            # Each thread waits for one of the workers.
            with ThreadPoolExecutor(self.workers) as threads:
                try:
                    yield from Futures(threads).map(run, batches)
                finally:
                    for worker in workers:
                        worker.close()
        finally:
            for worker in workers:
                worker.end()


class _Worker:
    """A process that runs `kirikae.worker`, begun when there is something to do and again when it has died."""

    def __init__(self, function: Run) -> None:
        self.function = function
        self.process: subprocess.Popen[bytes] | None = None
        self.closed = False

    def run(self, batch: Batch) -> Result:
        for _ in range(TRIES):
            try:
                return self._ask(batch)
            except (EOFError, OSError, pickle.UnpicklingError):
                self.end()
            if self.closed:
                break
        return Failed(batch.number, f"its worker died {TRIES} times")

    def close(self) -> None:
        """Ends the process whatever it does, and begins no other for the same batch."""
        self.closed = True
        if self.process is not None:
            self.process.kill()

    def end(self) -> None:
        """Ends the process, and leaves nothing of it. Nobody else may wait for it meanwhile."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            # What it was not told any more is of no use.
            with contextlib.suppress(OSError), process:
                pass

    def _ask(self, batch: Batch) -> Result:
        if self.process is None:
            command = [sys.executable, "-m", "kirikae.worker"]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        asked, told = self.process.stdin, self.process.stdout
        assert asked is not None and told is not None, "both are pipes"
        pickle.dump((self.function, batch), asked)
        asked.flush()
        result: Result = pickle.load(told)
        return result


class Ray:
    """A cluster of Ray (https://www.ray.io), which is the extra `kirikae[ray]`.

    If this process is not connected to one yet, `address` and the other arguments are what `ray.init` is called with.
    Kirikae must be installed on each node. A batch whose worker or node dies is begun again, three times in all.
    `dashboard` is the address of the cluster's dashboard; None where there is none.
    """

    def __init__(self, address: str | None = None, **options: Any) -> None:
        self.ray = _ray()
        options = {"ignore_reinit_error": True, **options}
        url = self.ray.init(address=address, **options).dashboard_url
        self.dashboard = f"http://{url}" if url else None

    def map(self, function: Run, batches: Sequence[Batch], /) -> Iterator[Result]:
        ray = self.ray
        remote = ray.remote(num_cpus=1, max_retries=TRIES - 1)(function)
        asked = [remote.remote(batch) for batch in batches]
        waiting: dict[Future[Result], int] = {it.future(): place for place, it in enumerate(asked)}
        try:
            for future in as_completed(waiting):
                try:
                    yield future.result()
                except ray.exceptions.RayError as error:
                    yield Failed(batches[waiting[future]].number, f"Ray gave it up: {error}")
        finally:
            for future, place in waiting.items():
                if not future.done():
                    ray.cancel(asked[place])


def dashboard(engine: Engine | Executor | None) -> str | None:
    """The address of what shows how an engine is getting on, if it has one."""
    return getattr(engine, "dashboard", None)


def engine_of(given: Engine | Executor) -> Engine:
    """The engine that is given, or that of an executor. Raises Error for anything else."""
    if isinstance(given, Executor):
        return Futures(given)
    if not callable(getattr(given, "map", None)):
        raise Error(f"engine: found {given!r}; allowed: what has map(function, batches)")
    return given


def _ray() -> Any:
    allowed = "from 2.60 up to 3: pip install 'kirikae[ray]'"
    try:
        import ray
    except ImportError as error:
        raise Error(f"Ray is not installed; allowed: {allowed}") from error
    major, minor = map(int, ray.__version__.split(".")[:2])
    if not (2, 60) <= (major, minor) < (3, 0):
        raise Error(f"found Ray {ray.__version__}; allowed: {allowed}")
    return ray


def _count(workers: int | None) -> int:
    if workers is None:
        return len(os.sched_getaffinity(0))
    if not 1 <= workers <= 1024:
        raise Error(f"workers: found {workers}; allowed: 1 to 1024")
    return workers
