"""The parts of a sweep that engines compute: consecutive seeds of one contender of one scenario."""

import functools
import gzip
import hashlib
import importlib.metadata
import itertools
import json
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass

from . import _kirikae
from ._kirikae import Error, Plan, Scenario

# The least that packs well: packing must not take longer than what it saves.
PACKING = 1


@dataclass(frozen=True)
class Batch:
    """What a worker simulates at a time."""

    # Its place among all batches of the sweep.
    number: int
    scenario: Scenario
    # The scenario's place among those that `scenario` says, and its title.
    place: int
    title: str
    contender: str
    # The first seed, and how many there are.
    seed: int
    count: int
    # What the results must be computed by.
    code: str

    def __str__(self) -> str:
        return f'"{self.title}", {self.contender}, {self.count} seeds from {self.seed}'

    def key(self) -> str:
        """A digest of all that determines the results."""
        told = [self.scenario.toml, self.scenario.named, self.place, self.contender, self.seed, self.count, self.code]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Done:
    """What came of the batch of this number, packed by gzip."""

    number: int
    packed: bytes


@dataclass(frozen=True)
class Failed:
    """Why nothing came of the batch of this number."""

    number: int
    why: str


Result = Done | Failed


def run(batch: Batch) -> Result:
    """Simulates a batch. Whatever goes wrong is a result, too, so that the other batches go on."""
    try:
        if batch.code != code():
            raise Error(f"found Kirikae {code()} on a worker; allowed: {batch.code}, as where the sweep began")
        results = _kirikae.simulate_batch(batch.scenario, batch.place, batch.contender, batch.seed, batch.count)
        return Done(batch.number, gzip.compress(results, PACKING, mtime=0))
    except Exception as error:
        return Failed(batch.number, str(error))


@functools.cache
def code() -> str:
    """Which Kirikae this is: its version, and a digest of what simulates."""
    with pathlib.Path(_kirikae.__file__).open("rb") as module:
        digest = hashlib.file_digest(module, "sha256").hexdigest()
    return f"{importlib.metadata.version('kirikae')}-{digest[:16]}"


def of_plan(plan: Plan, size: int) -> list[Batch]:
    """The batches of a plan, of at most `size` seeds, in the order in which their results are put together."""
    numbers = itertools.count()

    def of_scenario(part: "_kirikae.Part") -> Iterator[Batch]:
        scenario, place, title, contenders, seed, repetitions = part
        for contender, begin in itertools.product(contenders, range(0, repetitions, size)):
            # As where everything is simulated at once, 0 follows the last seed that there is.
            first = (seed + begin) % 2**64
            count = min(size, repetitions - begin)
            yield Batch(next(numbers), scenario, place, title, contender, first, count, code())

    return [batch for part in plan.parts for batch in of_scenario(part)]
