"""The parts of a sweep that engines compute: consecutive seeds of one contender of one scenario."""

import functools
import hashlib
import importlib.metadata
import json
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from . import _kirikae
from ._kirikae import Error, Plan, Scenario
from .algorithm import Algorithm

# As where everything is simulated at once, 0 follows the last seed that there is.
SEEDS = 2**64


@dataclass(frozen=True)
class Series:
    """All seeds of one contender of one scenario of a sweep."""

    # Its place among all series of the sweep.
    number: int
    scenario: Scenario
    # The scenario's place among those that `scenario` says, and its title.
    place: int
    title: str
    contender: str
    # The first seed, and how many there are.
    seed: int
    count: int
    # The contender, where it is from outside.
    algorithm: Algorithm | None = None

    @functools.cached_property
    def key(self) -> str:
        """A digest of all that determines the results but the seeds."""
        told = [self.scenario.toml, self.scenario.named, self.place, self.contender, code()]
        if self.algorithm:
            told.append(self.algorithm.digest)
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Batch:
    """What a worker simulates at a time."""

    # Its place among all batches of the sweep.
    number: int
    series: Series
    # The first seed, and how many there are.
    seed: int
    count: int
    # What the results must be computed by.
    code: str

    def __str__(self) -> str:
        return f'"{self.series.title}", {self.series.contender}, {self.count} seeds from {self.seed}'


@dataclass(frozen=True)
class Done:
    """What came of the batch of this number, as a Parquet file, and how many seconds one of its seeds took."""

    number: int
    packed: bytes
    seconds: float = field(compare=False)


@dataclass(frozen=True)
class Failed:
    """Why nothing came of the batch of this number."""

    number: int
    why: str


Result = Done | Failed

# So many failures are told one by one.
TOLD = 10


def run(batch: Batch) -> Result:
    """Simulates a batch. Whatever goes wrong is a result, too, so that the other batches go on."""
    try:
        of_same_code(batch.code)
        series = batch.series
        if series.algorithm:
            series.algorithm.load()
        done = _kirikae.simulate_batch(series.scenario, series.place, series.contender, batch.seed, batch.count)
        return Done(batch.number, *done)
    except Exception as error:
        return Failed(batch.number, str(error))


@functools.cache
def code() -> str:
    """Which Kirikae this is: its version, and a digest of what simulates."""
    with pathlib.Path(_kirikae.__file__).open("rb") as module:
        digest = hashlib.file_digest(module, "sha256").hexdigest()
    return f"{importlib.metadata.version('kirikae')}-{digest[:16]}"


def of_same_code(asked: str) -> None:
    """Raises Error where this is another Kirikae than the one that asks."""
    if asked != code():
        raise Error(f"found Kirikae {code()} on a worker; allowed: {asked}, as where it was asked for")


def failures(failed: Sequence[Failed], asked: Sequence[object]) -> str:
    """What is told of batches that failed, of those that were asked for, by their numbers."""
    told = "".join(f"\n{asked[it.number]}: {it.why}" for it in failed[:TOLD])
    return f"{len(failed)} of {len(asked)} batches failed:{told}"


def of_plan(plan: Plan, algorithms: Mapping[str, Algorithm]) -> list[Series]:
    """The series of a plan, in order. Some contenders may be algorithms from outside, by their names."""
    return [Series(number, *it, algorithms.get(it[3])) for number, it in enumerate(plan.series)]
