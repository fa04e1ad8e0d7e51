"""Rebuilds published results: in this process, or by an engine, study by study."""

import hashlib
import os
import pathlib
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from . import _kirikae, work
from ._kirikae import Error, Reproduction, Studies, compare_study
from .batches import code
from .engines import Engine, dashboard


@dataclass(frozen=True)
class Study(work.Part):
    """A study, which travels with its files."""

    name: str
    files: dict[str, bytes]
    run: "_kirikae.Run"

    def __str__(self) -> str:
        return self.name

    def told(self) -> list[object]:
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in self.files.items()}
        return [self.name, digests, self.run]

    def compute(self, threads: int | None) -> bytes:
        return compare_study(self.name, self.files, self.run, threads)


def reproduce(
    studies: str | Sequence[str] | None = None,
    *,
    short: bool = False,
    seed: int | None = None,
    repetitions: int | None = None,
    seed_blocks: int = 0,
    directory: str | os.PathLike[str] = "studies",
    threads: int | None = None,
    engine: Engine | Executor | None = None,
    campaign: str | os.PathLike[str] | None = None,
) -> Reproduction:
    """Rebuilds published results in virtual time, and returns the Reproduction: theirs beside ours.

    >>> reproduction = kirikae.reproduce(["handover", "snoop"], engine=kirikae.Processes())
    >>> print(reproduction)
    >>> reproduction.write("page.html")

    `studies` is the name of one, or a list of names; without it all of them are rebuilt, and what becomes of the
    papers' claims is told, too. With `short` each scenario has two repetitions at most, and criteria that need more are
    not judged. `seed` (0 or above) is the first of each scenario, `repetitions` (1 to 10000) how often one is repeated
    that is repeated at all; with `seed_blocks` (0 to 100) all is done so many times more, with seeds from 10,000,
    20,000 and so on. `directory` has a directory with its files for each study, as studies/ in the repository.

    `threads` (1 to 1024) is how many simulations run at a time; without it as many as RAYON_NUM_THREADS says, or cores.
    `engine` (Threads, Processes, Ray, an executor of concurrent.futures, or anything with `map(function, batches)`)
    computes a study at a time on each worker, and the directory `campaign` keeps what came of each, so that it is not
    computed again. A study that fails is told when the others are done.

    Ctrl-C ends it. Raises Error for anything that is not allowed or fails.
    """
    compute = work.computing(engine, threads)
    asked = Studies(studies, directory, short=short, seed=seed, repetitions=repetitions, seed_blocks=seed_blocks)
    parts = [
        Study(number, code(), name, _files(pathlib.Path(directory, name)), asked.run)
        for number, name in enumerate(asked.names)
    ]
    return asked.reproduction(work.done(parts, compute, campaign, dashboard(engine)))


def _files(directory: pathlib.Path) -> dict[str, bytes]:
    """The contents of the files in a directory, by their names."""
    try:
        return {file.name: file.read_bytes() for file in directory.iterdir() if file.is_file()}
    except OSError as error:
        raise Error(f"directory: {error}") from error
