"""A directory that keeps the results of batches, so that a sweep that was broken off goes on where it was."""

import gzip
import os
import pathlib
import tempfile
import zlib

from ._kirikae import Error
from .batches import Batch, code

# Tells by whom the results are.
CODE = "code"
# What is being written has a name with this end, and is not read.
PART = ".part"


class Campaign:
    """The results of batches, each in a file that is called by a digest of what determines them.

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

    def load(self, batch: Batch) -> bytes | None:
        """The results of a batch, unpacked, if they are here and undamaged."""
        try:
            # An empty file unpacks to nothing.
            return gzip.decompress((self.directory / batch.key()).read_bytes()) or None
        except (FileNotFoundError, gzip.BadGzipFile, EOFError, zlib.error):
            return None
        except OSError as error:
            raise Error(f"campaign: {error}") from error

    def keep(self, batch: Batch, packed: bytes) -> None:
        """Keeps the results of a batch, which are packed."""
        try:
            self._write(batch.key(), packed)
        except OSError as error:
            raise Error(f"campaign: {error}") from error

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
