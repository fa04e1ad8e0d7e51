"""Algorithms from outside: one file of C each, simulated beside those that Kirikae has."""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ._kirikae import Error, compile_algorithm, load_algorithm

# So long may a check take, in seconds; one takes about one.
PATIENCE = 60


@dataclass(frozen=True)
class Algorithm:
    """A congestion control in C from outside of Kirikae, which can be a contender of `simulate`.

    It is native code of this machine, and is run wherever it is simulated.
    """

    # As the kernel would call it: "kk_" and what its file is called.
    name: str
    # The shared object that it was compiled to.
    object: bytes = field(repr=False)
    has_large_state: bool = field(repr=False)

    @classmethod
    def from_c(cls, path: str | os.PathLike[str], *, check: bool = True) -> Algorithm:
        """The algorithm of a file such as those in bpf/algorithms: `NAME.bpf.c` with `ALGORITHM(NAME)` and an
        `ABOUT`, which becomes the contender kk_NAME. NAME has up to 12 of a-z, 0-9 and _.

        It may include what those include. It is compiled by `cc`, or by the compiler in the environment variable CC,
        every warning being an error. Then it is checked as those are: in a process of its own it meets what a
        connection may meet, 512 sequences, and ends where C leaves something undefined. `check=False` leaves that out.

        Raises Error with what the compiler or the check has to say.
        """
        algorithm = cls(*compile_algorithm(path, checked=False))
        algorithm.load()
        if check:
            _check(cls(*compile_algorithm(path, checked=True)), path)
        return algorithm

    @property
    def about(self) -> dict[str, Any]:
        """What its file tells of it: `source`, `good_at`, `state`, and its `parameters` with their values."""
        return self.load()

    @functools.cached_property
    def digest(self) -> str:
        """The SHA-256 of its object, in hexadecimal digits."""
        return hashlib.sha256(self.object).hexdigest()

    def load(self) -> dict[str, Any]:
        """Makes it known to this process under its name, where another may have been known so."""
        return load_algorithm(self.name, self.object, self.has_large_state)


def _check(algorithm: Algorithm, path: str | os.PathLike[str]) -> None:
    """Raises Error where an algorithm breaks what must hold, or its process."""
    command = [sys.executable, "-m", "kirikae.checker"]
    asked = pickle.dumps((algorithm.name, algorithm.object, algorithm.has_large_state))
    try:
        done = subprocess.run(command, input=asked, capture_output=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise Error(f"{path}: a check is not over after {PATIENCE} s; allowed: an algorithm that returns") from None
    if done.returncode < 0:
        ended = signal.Signals(-done.returncode).name
        raise Error(f"{path}: a check ended with {ended}; allowed: nothing that C leaves undefined")
    if done.returncode:
        raise Error(f"{path}: {done.stderr.decode(errors='replace').strip()}")


# Names, with commas or as a list, in which there may be algorithms from outside.
Contenders = str | Algorithm | Sequence[str | Algorithm]


def named(contenders: Contenders | None) -> tuple[str | list[str] | None, dict[str, Algorithm]]:
    """The names of contenders, and the algorithms from outside among them by their names, which are loaded."""
    if contenders is None or isinstance(contenders, str):
        return contenders, {}
    if isinstance(contenders, Algorithm):
        contenders = [contenders]
    algorithms: dict[str, Algorithm] = {}
    for it in contenders:
        if isinstance(it, Algorithm):
            it.load()
            algorithms[it.name] = it
    return [it.name if isinstance(it, Algorithm) else it for it in contenders], algorithms
