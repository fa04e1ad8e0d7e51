import subprocess

import polars
import pytest
from conftest import ends_by_ctrl_c
from kirikae import Algorithm, Error, Scenario, trace
from test_algorithm import written  # noqa: F401

TOLD = ["scenario", "contender", "seed"]


def test_it_is_the_table_of_the_command_line(lab, shallow, tmp_path):
    of = ["--contenders", "cubic,kirikae", "--repetitions", "2", "--trace", str(tmp_path), "--trace-format", "parquet"]
    subprocess.run([lab, "sim", shallow, *of], check=True, capture_output=True)
    rows = polars.DataFrame(trace(Scenario.load(shallow), contenders=["cubic", "kirikae"], repetitions=2))
    (title,) = Scenario.load(shallow).titles
    parts = rows.partition_by(TOLD, as_dict=True, maintain_order=True)
    files = {file.name: polars.read_parquet(file) for file in tmp_path.iterdir()}
    assert len(parts) == len(files) == 4
    for (scenario, contender, seed), part in parts.items():
        (file,) = [it for name, it in files.items() if name.endswith(f".{contender}.{seed}.parquet")]
        assert scenario == title and part.height > 1000
        whole = {name: polars.UInt64 for name, kind in file.schema.items() if kind == polars.UInt32}
        assert part.drop(TOLD).equals(file.cast(whole))


def test_scenarios_and_seeds_follow_each_other(values):
    both = [Scenario(**values | {"title": title}) for title in ("One", "Two, 1.5")]
    table = trace(both, contenders="cubic", seeds=range(3, 5), threads=2)
    rows = polars.DataFrame(table)
    told = rows.select(TOLD).unique(maintain_order=True).rows()
    assert told == [(title, "cubic", seed) for title in ("One", "Two, 1.5") for seed in (3, 4)]
    assert len(table) == rows.height and set(table.column("state")) <= {"open", "disorder", "cwr", "recovery", "loss"}
    assert table.column("cwnd") == rows["cwnd"].to_list()


def test_an_algorithm_from_outside_is_traced(values, written):  # noqa: F811
    mine = Algorithm.from_c(written(), check=False)
    table = trace(Scenario(**values), contenders=[mine], repetitions=1)
    assert set(table.column("algorithm")) == {mine.name}


def test_wrong_arguments_are_refused(values):
    with pytest.raises(Error, match="^threads: found 0; allowed: 1 to 1024$"):
        trace(Scenario(**values), threads=0)
    with pytest.raises(Error, match='^contenders: found "nobody"; allowed: '):
        trace(Scenario(**values), contenders="nobody")


def test_ctrl_c_ends_it_and_leaves_nothing(shallow, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert ends_by_ctrl_c(f"kirikae.trace(kirikae.Scenario.load({shallow!r}), repetitions=9000)")
    assert not list(tmp_path.iterdir())
