"""Measures latency tables: at once in this process, or in shards by an engine."""

import os
from concurrent.futures import Executor
from dataclasses import dataclass

from . import work
from ._kirikae import Characterization, Error, Grid, measure_shard
from .batches import code
from .engines import Engine, dashboard


@dataclass(frozen=True)
class Shard(work.Part):
    """Every `of`-th place of a grid: neighbours, which take about the same time, are in different shards."""

    # The text of the grid's file.
    grid: str
    of: int

    def __str__(self) -> str:
        return f"shard {self.number + 1}/{self.of}"

    def told(self) -> list[object]:
        return [self.grid, self.number, self.of]

    def compute(self, threads: int | None) -> bytes:
        return measure_shard(Grid.from_toml(self.grid), self.number + 1, self.of, threads)


def characterize(
    grid: Grid,
    *,
    threads: int | None = None,
    engine: Engine | Executor | None = None,
    campaign: str | os.PathLike[str] | None = None,
    batch: int = 50,
) -> Characterization:
    """Measures every algorithm at every place of a Grid, and returns the Characterization: a latency table, and more.

    >>> grid = kirikae.Grid.load("grid.toml")
    >>> measured = kirikae.characterize(grid, engine=kirikae.Ray(), campaign="campaigns/grid")
    >>> measured.write("table.csv", records="results")

    `threads` (1 to 1024) is how many places are measured at a time; without it as many as RAYON_NUM_THREADS says, or
    cores.

    With `engine` or `campaign` it is done in batches of `batch` (1 to 10000) places, as even as shards are, and comes
    out the same: `engine` computes them (Threads, Processes, Ray, an executor of concurrent.futures, or anything with
    `map(function, batches)`), and the directory `campaign` keeps what came of each, so that it is not computed again.
    Batches that fail are told when the others are done.

    Ctrl-C ends it. Raises Error for anything that is not allowed or fails.
    """
    if not 1 <= batch <= 10_000:
        raise Error(f"batch: found {batch}; allowed: 1 to 10000")
    compute = work.computing(engine, threads)
    of = 1 if engine is None and campaign is None else -(-len(grid) // batch)
    shards = [Shard(number, code(), grid.toml, of) for number in range(of)]
    return Characterization(grid, work.done(shards, compute, campaign, dashboard(engine)))
