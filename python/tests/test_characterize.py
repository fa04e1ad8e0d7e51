import contextlib
import hashlib
import json
import subprocess
import types

import polars
import pyarrow
import pyarrow.parquet
import pytest
from conftest import ends_by_ctrl_c
from kirikae import Error, Grid, Processes, Threads, characterize
from kirikae.batches import Failed
from test_engines import Counting, cluster  # noqa: F401

# Two round-trip times, loads and five conditions: 20 places, one of them a stream's.
GRID = """
# A comment is no part of the table.
seed = 3
algorithms = ["kk_cubic", "kk_hybla", "kk_bbr3"]
candidates = ["kk_bbr3", "kk_cubic"]
rtt = ["20 ms", "200 ms"]
rate = ["1 Mbit/s"]
burst = ["4 KiB"]
stream = [0.4]
loss = [0, 1e-2]
queue = ["10 packets", "100 packets"]
burst-loss = [1e-2]
[confidence]
repetitions = [2, 3]
writes = [2, 4]
"""
PLACES = 20


@pytest.fixture
def grid():
    return Grid.from_toml(GRID)


@pytest.fixture(scope="module")
def command_line(lab, tmp_path_factory):
    """The digests of what the command line writes, and what it tells."""
    directory = tmp_path_factory.mktemp("characterize")
    (directory / "grid.toml").write_text(GRID)
    command = [lab, "characterize", "grid.toml", "--output", "table.csv", "--records", "records", "--json"]
    told = subprocess.run(command, cwd=directory, check=True, capture_output=True).stdout
    return types.SimpleNamespace(directory=directory, digests=digests(directory), report=json.loads(told))


def kept(campaign):
    """What it keeps of batches."""
    return list(campaign.glob("*.gz"))


def digests(directory):
    files = ("table.csv", "records/table.parquet")
    return [hashlib.sha256((directory / file).read_bytes()).hexdigest() for file in files]


def written(measured, directory):
    measured.write(directory / "table.csv", records=directory / "records")
    return digests(directory)


ENGINES = {
    "none": lambda: None,
    "threads": lambda: Threads(2),
    "processes": lambda: Processes(2),
    "map": lambda: types.SimpleNamespace(map=map),
    "ray": None,
}


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_gives_the_bytes_of_the_command_line(grid, command_line, name, tmp_path, request):
    engine = ENGINES[name]() if ENGINES[name] else request.getfixturevalue("cluster")
    # The last batch is not full.
    measured = characterize(grid, engine=engine, batch=6)
    assert written(measured, tmp_path) == command_line.digests


def test_it_tells_what_was_measured(grid, command_line):
    measured = characterize(grid)
    assert len(grid) == PLACES
    assert measured.summary == {
        key: value for key, value in command_line.report.items() if key not in ("resumed", "wall_s")
    }
    assert measured.table.to_text() == (command_line.directory / "table.csv").read_text()
    rows = pyarrow.table(measured.rows)
    records = pyarrow.parquet.read_table(command_line.directory / "records/table.parquet")
    assert rows.to_pylist() == records.to_pylist()
    assert polars.DataFrame(measured.rows).height == PLACES * 3
    summary = measured.summary
    told = f"{summary['repetitions']} connections with {summary['writes']} bursts"
    assert repr(measured) == f"<kirikae.Characterization of 20 places, 3 algorithms: {told}>"
    assert told in measured._repr_html_()


def test_a_grid_says_what_its_file_says(grid, command_line):
    loaded = Grid.load(command_line.directory / "grid.toml")
    assert loaded.toml == grid.toml == GRID.lstrip().partition("\n")[2]
    assert grid.algorithms == ["kk_cubic", "kk_hybla", "kk_bbr3"]
    assert grid.candidates == ["kk_bbr3", "kk_cubic"]
    assert repr(grid) == "<kirikae.Grid of 20 places: kk_cubic, kk_hybla, kk_bbr3>"


def test_a_campaign_keeps_what_is_measured(grid, command_line, tmp_path):
    campaign = tmp_path / "campaign"
    engine = Counting()
    for _ in range(2):
        measured = characterize(grid, engine=engine, batch=6, campaign=campaign)
        assert written(measured, tmp_path / str(len(engine.counts))) == command_line.digests
    # The second time everything is there.
    assert engine.counts == [4, 0] and len(kept(campaign)) == 4
    # Another grid is measured anew, without an engine as well.
    characterize(Grid.from_toml(GRID.replace("seed = 3", "seed = 4")), batch=10, campaign=campaign)
    assert len(kept(campaign)) == 6


def test_a_batch_that_fails_is_told_and_the_others_are_kept(grid, tmp_path):
    class Failing:
        """Cannot do one of the batches."""

        def map(self, function, every):
            for it in every:
                yield function(it) if it.number != 1 else Failed(1, "no room")

    arguments = {"batch": 6, "campaign": tmp_path}
    with pytest.raises(Error, match="^1 of 4 batches failed:\nshard 2/4: no room$"):
        characterize(grid, engine=Failing(), **arguments)
    engine = Counting()
    characterize(grid, engine=engine, **arguments)
    assert engine.counts == [1]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('rate = ["1 Mbit/s"]', "rate = []", "mine.toml:7: rate: "),
        ("seed = 3", "", "mine.toml:1: seed: "),
        ("kk_hybla", "nobody", "mine.toml:4: algorithms[1]: "),
        ("[confidence]", "[confidence", "mine.toml:13: "),
    ],
)
def test_a_grid_that_is_wrong_is_refused_as_by_the_command_line(lab, tmp_path, old, new, told):
    text = GRID.replace(old, new, 1)
    with pytest.raises(Error) as raised:
        Grid.from_toml(text, file="mine.toml")
    assert str(raised.value).startswith(told)
    (tmp_path / "mine.toml").write_text(text)
    command = [lab, "characterize", "mine.toml", "--output", "table.csv"]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert refused.stderr == f"kirikae-lab: {raised.value}\n" and refused.returncode == 2
    with contextlib.chdir(tmp_path), pytest.raises(Error) as raised_too:
        Grid.load("mine.toml")
    assert str(raised_too.value) == str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"engine": 7}, r"^engine: found 7; allowed: what has map\(function, batches\)$"),
        ({"engine": map, "threads": 2}, "^threads: found an engine beside it; allowed: one of the two$"),
        ({"campaign": "none", "threads": 0}, "^threads: found 0; allowed: 1 to 1024$"),
        ({"threads": 0}, "^threads: found 0; allowed: 1 to 1024$"),
        ({"engine": map, "batch": 0}, "^batch: found 0; allowed: 1 to 10000$"),
    ],
)
def test_wrong_arguments_are_refused(grid, tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Error, match=told):
        characterize(grid, **arguments)
    assert list(tmp_path.iterdir()) == []


def test_records_that_are_there_are_not_replaced(grid, tmp_path):
    measured = characterize(grid)
    measured.write(tmp_path / "table.csv", records=tmp_path)
    (tmp_path / "table.csv").write_text("mine")
    with pytest.raises(Error, match="table.parquet is there already"):
        measured.write(tmp_path / "table.csv", records=tmp_path)
    assert (tmp_path / "table.csv").read_text() == "mine"


def test_ctrl_c_ends_it():
    text = GRID.replace("[2, 3]", "[100000, 100000]")
    assert ends_by_ctrl_c(f"kirikae.characterize(kirikae.Grid.from_toml({text!r}))")
