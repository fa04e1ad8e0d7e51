"""A directory that keeps the results of batches, so that a sweep that was broken off goes on where it was."""

import os
import pathlib
import re
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Sequence

from ._kirikae import Error, Results
from .batches import SEEDS, Batch, Series, code

# Tells by whom the results are.
CODE = "code"
# What is being written has a name with this end, and is not read.
PART = ".part"
# A series' key, the first seed and how many there are, and a checksum of the file.
NAME = re.compile(r"([0-9a-f]{64})-(\d+)-(\d+)-([0-9a-f]{8})\.parquet")


class Campaign:
    """The results of batches, each in a file that is called by a digest of what determines them, and by its seeds.

    Each file is there as a whole or not at all, so any number of processes may use the directory at a time.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = pathlib.Path(directory)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            names = [name for name in os.listdir(self.directory) if not name.endswith(PART)]
            if CODE in names:
                found = (self.directory / CODE).read_text().strip()
            elif names:
                found = "none"
            else:
                found = code()
                self._write(CODE, f"{found}\n".encode())
        except OSError as error:
            raise Error(f"campaign: {error}") from error
        if found != code():
            raise Error(
                f"campaign: {self.directory} is of Kirikae {found}; allowed: a directory of {code()}, "
                "an empty one, or one that is not there"
            )
        # The files of each series, by its key.
        self.files = defaultdict[str, list[re.Match[str]]](list)
        for name in sorted(names):
            if file := NAME.fullmatch(name):
                self.files[file[1]].append(file)

    def load(self, series: Series) -> tuple[list[Results], Sequence[int]]:
        """The results of a series that are here and undamaged, and the places of the seeds that are missing."""
        kept = []
        missing = set(range(series.count))
        for file in self.files[series.key]:
            first = int(file[2]) - series.seed
            seeds = {(first + place) % SEEDS for place in range(int(file[3]))}
            if missing & seeds and (results := self._read(file)):
                kept.append(results)
                missing -= seeds
        return kept, sorted(missing)

    def keep(self, batch: Batch, packed: bytes) -> None:
        """Keeps the results of a batch."""
        name = f"{batch.series.key}-{batch.seed}-{batch.count}-{zlib.crc32(packed):08x}.parquet"
        try:
            self._write(name, packed)
        except OSError as error:
            raise Error(f"campaign: {error}") from error

    def _read(self, file: re.Match[str]) -> Results | None:
        """The results in a file. One that is damaged is removed."""
        path = self.directory / file[0]
        try:
            packed = path.read_bytes()
            if zlib.crc32(packed) == int(file[4], 16):
                return Results(packed)
            path.unlink()
        except FileNotFoundError:
            # Another process has removed it.
            pass
        except OSError as error:
            raise Error(f"campaign: {error}") from error
        return None

    def _write(self, name: str, content: bytes) -> None:
        with tempfile.NamedTemporaryFile(dir=self.directory, suffix=PART, delete=False) as part:
            try:
                part.write(content)
                part.flush()
                os.fsync(part.fileno())
                os.replace(part.name, self.directory / name)
            except BaseException:
                os.unlink(part.name)
                raise
