from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

class Error(Exception):
    """Why something was not computed."""

class ScenarioError(Error):
    """A scenario that is refused."""

    file: str
    """The file; "<dict>" if the scenario is from none."""
    line: int | None
    """From 1; None if the file as a whole is refused, or there is none."""
    key: str | None
    """Its full name, such as path.forward[0].probability."""
    found: str
    allowed: str

class Scenario:
    """A scenario, or one for each combination of its sweep."""

    def __init__(self, sections: dict[str, Any] | None = None, /, **named: Any) -> None: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> Scenario:
        """Reads a scenario file."""
    def with_(self, changes: dict[str, Any] | None = None, /, **named: Any) -> Scenario:
        """The same scenario with other values, as in with_({"path.forward[0].rate": "5 Mbit/s"}, seed=7)."""
    @property
    def file(self) -> str: ...
    @property
    def toml(self) -> str: ...
    @property
    def titles(self) -> list[str]: ...
    @property
    def contenders(self) -> list[str]: ...
    @property
    def seed(self) -> int: ...
    @property
    def repetitions(self) -> int: ...
    def __len__(self) -> int: ...

class Table:
    """A table that speaks Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...

class Outcome:
    """What came of a simulation."""

    @property
    def bursts(self) -> Table: ...
    @property
    def flows(self) -> Table: ...
    @property
    def switches(self) -> Table: ...
    @property
    def summary(self) -> dict[str, Any]:
        """The summary: latencies, ratios and regret of each contender, with half the width of 95 % intervals."""
    def json(self) -> str:
        """The summary as `kirikae-lab sim --json` prints it."""
    def write(self, directory: str | PathLike[str]) -> Path:
        """Writes the records that `kirikae-lab sim --output` writes; returns their directory."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def simulate(
    scenario: Scenario
    | str
    | PathLike[str]
    | dict[str, Any]
    | Sequence[Scenario | str | PathLike[str] | dict[str, Any]],
    *,
    repetitions: int | None = None,
    seeds: range | None = None,
    contenders: str | Sequence[str] | None = None,
    threads: int | None = None,
) -> Outcome:
    """Simulates every contender of every scenario with the same packets lost."""
