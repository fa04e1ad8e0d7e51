"""Scenarios from files and dictionaries, and what is refused."""

from pathlib import Path
from typing import Any

import kirikae
import pytest

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def shallow() -> dict[str, Any]:
    return {
        "title": "A path",
        "seed": 2,
        "workload": {"burst": "64 KiB", "interval": "2 s", "count": 3},
        "path": {
            "forward": [
                {"element": "rate", "rate": "3 Mbit/s", "queue": "30 packets"},
                {"element": "delay", "delay": "50 ms"},
            ],
            "backward": [{"element": "delay", "delay": "50 ms"}],
        },
    }


def test_a_file_is_read() -> None:
    scenario = kirikae.Scenario.load(SCENARIOS / "shallow.toml")
    assert scenario.titles == ["Shallow queue, 3 Mbit/s"]
    assert (scenario.seed, scenario.repetitions, len(scenario)) == (2, 1, 1)
    assert scenario.contenders[:2] == ["cubic", "bbr"]


def test_a_refusal_has_file_line_and_key(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    text = (SCENARIOS / "shallow.toml").read_text()
    file.write_text(text.replace('rate = "3 Mbit/s"', 'rate = "3 MB"'))
    with pytest.raises(kirikae.ScenarioError) as refused:
        kirikae.Scenario.load(file)
    line = 1 + text[: text.index('rate = "3 Mbit/s"')].count("\n")
    error = refused.value
    assert (error.file, error.line, error.key) == (str(file), line, "path.forward[0].rate")
    assert str(error).startswith(f"{file}:{line}: path.forward[0].rate: found \"3 MB\"; allowed: ")


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(kirikae.ScenarioError, match="cannot be read") as refused:
        kirikae.Scenario.load("not-there.toml")
    assert (refused.value.line, refused.value.key) == (None, None)


def test_a_dictionary_and_keywords_mean_the_same() -> None:
    assert kirikae.Scenario(shallow()).toml == kirikae.Scenario(**shallow()).toml


@pytest.mark.parametrize(
    ("change", "key", "found"),
    [
        ({"colour": "red"}, "colour", "unknown key"),
        ({"seed": None}, "seed", "found None"),
        ({"seed": 1 << 80}, "seed", f"found {1 << 80}"),
        ({"bench": {"contenders": ["cubik"]}}, "bench.contenders[0]", 'found "cubik"'),
    ],
)
def test_dictionaries_are_refused_by_key(change: dict[str, Any], key: str, found: str) -> None:
    with pytest.raises(kirikae.ScenarioError) as refused:
        kirikae.Scenario(shallow() | change)
    error = refused.value
    assert (error.file, error.line, error.key, error.found) == ("<dict>", None, key, found)


def test_changes_leave_the_rest() -> None:
    scenario = kirikae.Scenario.load(SCENARIOS / "shallow.toml")
    changed = scenario.with_({"path.forward[0].rate": "2 Mbit/s"}, seed=7)
    expected = scenario.toml.replace('"3 Mbit/s"\nqueue', '"2 Mbit/s"\nqueue').replace("seed = 2", "seed = 7")
    assert changed.toml == expected
    assert scenario.seed == 2


def test_a_change_of_what_is_not_there_is_refused() -> None:
    scenario = kirikae.Scenario.load(SCENARIOS / "shallow.toml")
    with pytest.raises(kirikae.ScenarioError, match=r"there is no \[2\]; allowed: a place below 2"):
        scenario.with_({"path.forward[2].rate": "2 Mbit/s"})
    with pytest.raises(kirikae.ScenarioError, match="unknown key"):
        scenario.with_(colour="red")


def test_a_sweep_is_several_scenarios() -> None:
    scenario = kirikae.Scenario(shallow() | {"title": "Seed $n", "sweep": {"n": [1, 2]}, "seed": "$n"})
    assert scenario.titles == ["Seed 1", "Seed 2"]
