"""Searches for paths on which the switcher loses: at once in this process, or in batches by an engine."""

import os
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal

from . import work
from ._kirikae import Error, LatencyTable, Scenario, Search, SearchOptions
from .batches import code
from .engines import Engine, dashboard

# The arguments of SearchOptions that what comes of a path depends on.
Options = tuple[Any, ...]


@dataclass(frozen=True)
class Paths(work.Part):
    """Drawn paths that follow each other."""

    options: Options
    # The index of the first, and how many there are.
    first: int
    count: int

    def __str__(self) -> str:
        return f"seed {self.options[0]}, {self.count} paths from {self.first}"

    def told(self) -> list[object]:
        return [*self.options, self.first, self.count]

    def compute(self, threads: int | None) -> bytes:
        return SearchOptions(*self.options).play(self.first, self.count, threads)


@dataclass(frozen=True)
class Climb(work.Part):
    """The climb from a drawn path."""

    options: Options
    # That of the path.
    index: int

    def __str__(self) -> str:
        return f"seed {self.options[0]}, the climb from path {self.index}"

    def told(self) -> list[object]:
        return [*self.options, self.index]

    def compute(self, threads: int | None) -> bytes:
        return SearchOptions(*self.options).climb(self.index, threads)


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
    batch: int = 100,
) -> Search:
    """Searches for paths on which the switcher loses, and returns what was found as a Search.

    >>> found = kirikae.search(count=1000)
    >>> print(found)
    >>> more = kirikae.search(count=1_000_000, engine=kirikae.Ray(), campaign="campaigns/search")

    `seed` (0 or above) is that of everything that is drawn; with a range there is a search for each. `count` paths (1
    to 100,000,000) are drawn, and from so many of the worst (`climbs`, 0 to 1000) it climbs. `than` is whom the
    switcher is held against: a contender or, of several, the best on each path. With `new_connections` each burst is
    on a new connection, which begins in this way where its path is known. `loss` (above 1, up to 100) is the ratio of
    mean latencies from which on the switcher loses. `table` and `friendliness` are as in `explain`. The same arguments
    give the same finds.

    `threads` (1 to 1024) is how many paths are played at a time; without it as many as RAYON_NUM_THREADS says, or cores.

    With `engine` or `campaign` the drawn paths are played in batches of `batch` (1 to 10000), and then each climb is a
    batch: `engine` computes them (Threads, Processes, Ray, an executor of concurrent.futures, or anything with
    `map(function, batches)`), and the directory `campaign` keeps what came of each, so that it is not computed again,
    by a search of more paths either. Batches that fail are told when the others are done.

    Ctrl-C ends it. Raises Error for anything that is not allowed or fails.
    """
    if not 1 <= batch <= 10_000:
        raise Error(f"batch: found {batch}; allowed: 1 to 10000")
    began = time.perf_counter()
    compute = work.computing(engine, threads)
    link = dashboard(engine)
    # Workers are told of the table by its text.
    text = None if table is None else table.to_text()
    seeds = [seed] if isinstance(seed, int) else list(seed)
    asked = [(one, than, new_connections, loss, text, friendliness) for one in seeds]
    # What is not allowed is told before anything is played.
    searches = [SearchOptions(*options, count=count, climbs=climbs) for options in asked]

    size = count if engine is None and campaign is None else batch
    firsts = range(0, count, size)
    of_paths = [(options, first) for options in asked for first in firsts]
    paths = [
        Paths(number, code(), options, first, min(size, count - first))
        for number, (options, first) in enumerate(of_paths)
    ]
    came = iter(work.done(paths, compute, campaign, link))
    played = [[next(came) for _ in firsts] for _ in asked]

    starts = [it.starts(paths) for it, paths in zip(searches, played, strict=True)]
    of_climbs = [(options, index) for options, indexes in zip(asked, starts, strict=True) for index in indexes]
    ups = [Climb(number, code(), *it) for number, it in enumerate(of_climbs)]
    came = iter(work.done(ups, compute, campaign, link))
    climbed = [[next(came) for _ in indexes] for indexes in starts]
    took = [time.perf_counter() - began] * len(asked)
    return Search(list(zip(searches, played, climbed, took, strict=True)))


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
    options = SearchOptions(seed, than, new_connections, 2, None, None)
    return Scenario.from_toml(options.path(index), file=f"path-{index}.toml")
