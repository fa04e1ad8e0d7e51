"""Simulations: the command line's figures and bytes, tables, refusals, signals."""

import hashlib
import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import kirikae
import polars
import pyarrow
import pytest

ROOT = Path(__file__).parents[2]
SHALLOW = "scenarios/shallow.toml"
MIXED = "scenarios/mixed.toml"
FEW = ["cubic", "kirikae"]


@pytest.fixture(autouse=True)
def in_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def lab() -> str:
    """The command line's program, which whoever runs the tests has built of the same sources."""
    return os.environ["KIRIKAE_LAB"]


def hashes(directory: str | Path) -> dict[str, str]:
    files = sorted(Path(directory).iterdir())
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.mark.parametrize("scenario", [SHALLOW, MIXED])
def test_records_and_summary_are_the_command_lines(scenario: str, tmp_path: Path) -> None:
    outcome = kirikae.simulate(scenario, contenders=FEW, repetitions=2)
    arguments = ["sim", scenario, "--contenders", ",".join(FEW), "--repetitions", "2"]
    subprocess.run([lab(), *arguments, "--output", tmp_path / "lab"], check=True, capture_output=True)
    [records] = (tmp_path / "lab").iterdir()
    written = hashes(outcome.write(tmp_path / "python"))
    assert written == hashes(records)
    assert "run.json" in written
    told = subprocess.run([lab(), *arguments, "--json"], check=True, capture_output=True, text=True)
    assert outcome.json() + "\n" == told.stdout
    assert outcome.summary == json.loads(told.stdout)
    printed = subprocess.run([lab(), *arguments], check=True, capture_output=True, text=True)
    assert str(outcome) == printed.stdout


def test_any_number_of_threads_gives_the_same_bytes(tmp_path: Path) -> None:
    written = [
        hashes(kirikae.simulate(SHALLOW, contenders=FEW, threads=n).write(tmp_path / str(n))) for n in (1, 2)
    ]
    assert written[0] == written[1]


def test_tables_are_the_records(tmp_path: Path) -> None:
    outcome = kirikae.simulate(SHALLOW, contenders=FEW)
    records = outcome.write(tmp_path)
    assert isinstance(records, Path) and records.parent == tmp_path
    recorded = [json.loads(line) for line in (records / "bursts.jsonl").read_text().splitlines()]
    bursts = pyarrow.table(outcome.bursts)
    assert bursts.num_rows == len(outcome.bursts) == len(recorded) == 2 * 76
    assert bursts.to_pylist() == recorded
    switches = pyarrow.table(outcome.switches).to_pylist()
    recorded = [json.loads(line) for line in (records / "switches.jsonl").read_text().splitlines()]
    assert [row["at_ns"] for row in switches] == [row["at_ns"] for row in recorded]
    assert recorded


def test_polars_takes_tables_and_the_outcome() -> None:
    outcome = kirikae.simulate(SHALLOW, contenders=FEW)
    frame = polars.DataFrame(outcome)
    assert frame["contender"].cast(polars.String).unique().sort().to_list() == FEW
    assert polars.DataFrame(outcome.flows).height == len(FEW)


def test_seeds_are_a_range() -> None:
    outcome = kirikae.simulate(SHALLOW, contenders=["cubic"], seeds=range(5, 7))
    assert set(pyarrow.table(outcome)["seed"].to_pylist()) == {5, 6}
    for wrong in (range(0), range(1, 9, 2), range(-1, 3)):
        with pytest.raises(kirikae.Error, match="^seeds: found "):
            kirikae.simulate(SHALLOW, seeds=wrong)
    with pytest.raises(kirikae.Error, match="^seeds: found repetitions, too"):
        kirikae.simulate(SHALLOW, seeds=range(1, 3), repetitions=2)


def test_contenders_that_are_not_there_are_refused() -> None:
    with pytest.raises(kirikae.Error, match='^contenders: found "cubik"; allowed: all, or each once of cubic'):
        kirikae.simulate(SHALLOW, contenders=["cubik"])


def test_what_only_the_kernel_plays_is_refused() -> None:
    scenario = kirikae.Scenario.load(SHALLOW).with_({"bench": {"tcp-recovery": 1}})
    with pytest.raises(kirikae.ScenarioError) as refused:
        kirikae.simulate(scenario)
    assert refused.value.key == "bench.tcp-recovery"


def test_ctrl_c_ends_it_and_python_is_free_meanwhile() -> None:
    interrupted = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    interrupted.start()
    # More than a minute of computing, were it not interrupted: the timer's thread needs the interpreter.
    with pytest.raises(KeyboardInterrupt):
        kirikae.simulate(SHALLOW, contenders="all", repetitions=10_000, threads=1)
    interrupted.join()
