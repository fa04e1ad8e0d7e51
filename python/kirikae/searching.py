"""Searches for paths on which the switcher loses, in processes of their own."""

import os
import uuid
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal

from . import work
from ._kirikae import Error, LatencyTable, Scenario, Search, SearchOptions
from .batches import code
from .engines import Engine, Processes, dashboard

# The arguments of SearchOptions.
Options = tuple[Any, ...]

# Of a process that was forked, too, with its number.
_PROCESS = uuid.uuid4()


@dataclass(frozen=True)
class Seed(work.Part):
    """A whole search."""

    # The process that asks for it.
    asked_by: str
    options: Options

    def __str__(self) -> str:
        return f"seed {self.options[0]}"

    def told(self) -> list[object]:
        return [*self.options]

    def compute(self, threads: int | None) -> bytes:
        # A search takes the signals of its process, SIGTERM for instance, which then ends it no more.
        if self.asked_by == _process():
            raise Error("engine: found one that searches in this process; allowed: one whose workers are processes")
        return SearchOptions(*self.options).search(threads)


def _process() -> str:
    """What tells this process from all others."""
    return f"{_PROCESS}-{os.getpid()}"


def search(
    *,
    seed: int | range = 1,
    count: int = 10_000,
    climbs: int = 16,
    than: str | Sequence[str] = "cubic",
    new_connections: Literal["none", "careful", "first-flight"] | None = None,
    loss: float = 1.1,
    table: LatencyTable | None = None,
    friendliness: Literal["friendly", "balanced", "fast"] | None = None,
    threads: int | None = None,
    engine: Engine | Executor | None = None,
    campaign: str | os.PathLike[str] | None = None,
) -> Search:
    """Searches for paths on which the switcher loses, and returns what was found as a Search.

    >>> found = kirikae.search(count=1000)
    >>> print(found)
    >>> more = kirikae.search(seed=range(1, 9), engine=kirikae.Ray())

    `seed` (0 or above) is that of everything that is drawn; with a range there is a search for each. `count` paths (1
    to 100,000,000) are drawn, and from so many of the worst (`climbs`, 0 to 1000) it climbs. `than` is whom the
    switcher is held against: a contender or, of several, the best on each path. With `new_connections` each burst is
    on a new connection, which begins in this way where its path is known. `loss` (above 1, up to 100) is the ratio of
    mean latencies from which on the switcher loses. `table` and `friendliness` are as in `explain`. The same arguments
    give the same finds.

    A search is computed in a process of its own, on `threads` threads (1 to 1024); without it on as many as
    RAYON_NUM_THREADS says, or cores. With `engine` each worker computes a search at a time, on one thread. The workers
    must be processes. The directory `campaign` keeps what came of each search, so that it is not computed again.
    Searches that fail are told when the others are done.

    Ctrl-C ends it. Raises Error for anything that is not allowed or fails.
    """
    compute = work.computing(engine, threads, alone=Processes(1))
    # It is searched where this one's objects are not.
    text = None if table is None else table.to_text()
    parts = []
    for number, one in enumerate([seed] if isinstance(seed, int) else seed):
        options = (one, count, climbs, than, new_connections, loss, text, friendliness)
        # What is not allowed is told before anything is searched.
        SearchOptions(*options)
        parts.append(Seed(number, code(), _process(), options))
    return Search(work.done(parts, compute, campaign, dashboard(engine)))


def drawn_path(
    index: int,
    *,
    seed: int = 1,
    than: str | Sequence[str] = "cubic",
    new_connections: Literal["none", "careful", "first-flight"] | None = None,
) -> Scenario:
    """The path with this index (0 or above) of those that a search draws, as a Scenario that is simulated as the search
    does when it meets it first. The other arguments are those of `search`.
    """
    options = SearchOptions(seed, 1, 0, than, new_connections, 2, None, None)
    return Scenario.from_toml(options.path(index), file=f"path-{index}.toml")
