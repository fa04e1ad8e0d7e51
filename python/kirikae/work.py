"""Work that engines do in parts, whichever work it is, and what a campaign keeps of it."""

import gzip
import hashlib
import json
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

from ._kirikae import Error
from .batches import Failed, failures, of_same_code
from .campaign import Campaign
from .engines import Engine, engine_of
from .progress import progress


@dataclass(frozen=True)
class Part(ABC):
    """What a worker computes at a time. Its text tells what it is."""

    # Its place among all parts.
    number: int
    # What it must be computed by.
    code: str

    @abstractmethod
    def told(self) -> list[object]:
        """All that determines what comes of it, but for the code."""

    @abstractmethod
    def compute(self, threads: int | None) -> bytes:
        """What comes of it, computed on so many threads; None: as many as there are cores."""

    def key(self) -> str:
        """A digest of all that determines what comes of it."""
        told = [type(self).__name__, *self.told(), self.code]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Came:
    """What came of the part of this number."""

    number: int
    content: bytes


Result = Came | Failed


def run(part: Part, threads: int | None = 1) -> Result:
    """Computes a part. Whatever goes wrong is a result, too, so that the other parts go on."""
    try:
        of_same_code(part.code)
        return Came(part.number, part.compute(threads))
    except Exception as error:
        return Failed(part.number, str(error))


Compute = Callable[[Sequence[Part]], Iterable[Result]]


def computing(engine: Engine | Executor | None, threads: int | None) -> Compute:
    """Who computes parts: an engine, each on one thread. Without it they are computed in this process, one after the
    other, on `threads` threads each.
    """
    if engine is None:
        if threads is not None and not 1 <= threads <= 1024:
            raise Error(f"threads: found {threads}; allowed: 1 to 1024")
        return partial(map, partial(run, threads=threads))
    if threads is not None:
        raise Error("threads: found an engine beside it; allowed: one of the two")
    # An engine may map whatever has a number.
    maps: Callable[..., Iterable[Any]] = engine_of(engine).map
    return partial(maps, run)


def done(
    parts: Sequence[Part], compute: Compute, campaign: str | os.PathLike[str] | None, link: str | None = None
) -> list[bytes]:
    """What comes of all parts, in order: what the directory `campaign` keeps, and the rest as it is computed. `link`
    leads to what tells of the engine.

    Raises Error for parts that fail, when the others are done.
    """
    kept = None if campaign is None else Kept(campaign)
    came = {it.number: found for it in parts if kept and (found := kept.load(it)) is not None}
    failed: list[Failed] = []
    try:
        missing = [it for it in parts if it.number not in came]
        with progress(len(missing), "batches", link) as bar:
            for result in compute(missing):
                match result:
                    case Came(number, content):
                        if kept:
                            kept.keep(parts[number], content)
                        came[number] = content
                    case Failed():
                        failed.append(result)
                bar.update()
    except Error:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise Error(f"the engine failed with {len(came)} of {len(parts)} batches done: {what}") from error
    if failed:
        raise Error(failures(failed, parts))
    if len(came) < len(parts):
        raise Error(f"the engine gave {len(came)} of {len(parts)} batches; allowed: all")
    return [came[it.number] for it in parts]


class Kept:
    """What came of parts, each in a file of a campaign's directory that is called by a digest of what determines it."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.campaign = Campaign(directory)

    def load(self, part: Part) -> bytes | None:
        """What came of a part, if it is here and undamaged."""
        try:
            # An empty file unpacks to nothing.
            return gzip.decompress((self.campaign.directory / _name(part)).read_bytes()) or None
        except (FileNotFoundError, gzip.BadGzipFile, EOFError, zlib.error):
            return None
        except OSError as error:
            raise Error(f"campaign: {error}") from error

    def keep(self, part: Part, content: bytes) -> None:
        """Keeps what came of a part."""
        try:
            self.campaign._write(_name(part), gzip.compress(content, mtime=0))
        except OSError as error:
            raise Error(f"campaign: {error}") from error


def _name(part: Part) -> str:
    return f"{part.key()}.gz"
