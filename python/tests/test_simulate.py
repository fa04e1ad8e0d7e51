import hashlib
import json
import subprocess
import threading
import time

import pandas
import polars
import pyarrow
import pytest
from conftest import ROOT, ends_by_ctrl_c
from example import latencies
from kirikae import Error, Scenario, ScenarioError, simulate


@pytest.fixture
def outcome(values):
    return simulate(Scenario(**values), repetitions=2)


def hashes(directory):
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in directory.iterdir()
    }


def command_line(lab, *arguments):
    return subprocess.run([lab, "sim", *arguments], check=True, capture_output=True).stdout


# Write by write, with losses and switches; a sweep of it; flow by flow; several flows of several kinds.
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("shallow", {"workload.count": 8}),
        (
            "shallow",
            {
                "title": "Rate $rate",
                "workload.count": 8,
                "path.forward[0].rate": "$rate",
                "sweep": {"rate": ["2 Mbit/s", "4 Mbit/s"]},
            },
        ),
        (
            "shallow",
            {
                "workload": {"kind": "bulk", "bytes": "unlimited"},
                "sim": {"duration": "4 s"},
            },
        ),
        ("mixed", {}),
    ],
    ids=["bursts", "sweep", "flows", "mixed"],
)
def test_the_command_line_gives_the_same_bytes(lab, tmp_path, name, changes):
    scenario = Scenario.load(ROOT / f"scenarios/{name}.toml").with_(changes)
    file = tmp_path / "scenario.toml"
    file.write_text(scenario.toml)
    scenario = Scenario.load(file)
    contenders = ["cubic", "kk_hybla", "kirikae"]
    options = [str(file), "--contenders", ",".join(contenders), "--repetitions", "2"]
    outcome = simulate(scenario, contenders=contenders, repetitions=2)

    assert outcome.to_json().encode() == command_line(lab, *options, "--json")
    assert str(outcome).encode() == command_line(lab, *options)
    command_line(lab, *options, "--output", str(tmp_path / "theirs"))
    written = outcome.write(tmp_path / "ours")
    (theirs,) = (tmp_path / "theirs").iterdir()
    assert hashes(written) == hashes(theirs)
    assert len(hashes(theirs)) == 5

    # The tables say what the records say.
    for name, table in [("bursts", outcome.bursts), ("flows", outcome.flows)]:
        lines = [json.loads(line) for line in (theirs / f"{name}.jsonl").read_text().splitlines()]
        rows = pyarrow.table(table).to_pylist()
        shared = [{key: row[key] for key in row.keys() & lines[0].keys()} for row in rows]
        assert len(rows) == len(lines)
        assert shared == [{key: line.get(key) for key in shared[0]} for line in lines]
    switches = (theirs / "switches.jsonl").read_text().splitlines()
    if switches:
        rows = pyarrow.table(outcome.switches).to_pylist()
        assert [row["at_ns"] for row in rows] == [json.loads(line)["at_ns"] for line in switches]


def test_pyarrow_polars_and_pandas_read_the_tables(outcome):
    bursts = outcome.bursts
    arrow = pyarrow.table(bursts)
    assert arrow.column_names == bursts.column_names
    assert pyarrow.schema(bursts) == arrow.schema
    # Two contenders, two repetitions, five bursts.
    assert arrow.num_rows == len(bursts) == 2 * 2 * 5
    frame = polars.DataFrame(bursts)
    assert frame.height == arrow.num_rows
    assert frame["latency_s"].to_list() == arrow["latency_s"].to_pylist()
    pandas_frame = pandas.DataFrame.from_arrow(bursts)
    counted = pandas_frame[~pandas_frame["warmup"] & (pandas_frame["contender"] == "cubic")]
    assert len(counted) == 2 * 4
    assert polars.DataFrame(outcome.flows)["latencies_s"].list.len().to_list() == [4] * 4
    assert polars.DataFrame(outcome.switches).height == len(outcome.switches) == 0


def test_a_table_outlives_its_outcome(values):
    arrow = pyarrow.table(simulate(Scenario(**values)).bursts)
    arrow.validate(full=True)
    assert arrow["seed"].to_pylist() == [3] * 10


def test_switches_are_a_table(shallow):
    outcome = simulate(Scenario.load(shallow).with_({"workload.count": 20}), contenders="kirikae")
    rows = pyarrow.table(outcome.switches).to_pylist()
    assert rows, "Kirikae switches on this path"
    assert {row["contender"] for row in rows} == {"kirikae"}
    predicted = dict(rows[0]["predicted_s"])
    assert predicted[rows[0]["to"]] == min(predicted.values())


def test_columns_are_lists(shallow):
    outcome = simulate(Scenario.load(shallow).with_({"workload.count": 20}), contenders="kirikae,cubic")
    for table in (outcome.bursts, outcome.flows, outcome.switches):
        rows = pyarrow.table(table).to_pydict(maps_as_pydicts="strict")
        assert {name: table.column(name) for name in table.column_names} == rows
    assert isinstance(outcome.switches.column("predicted_s")[0], dict)
    with pytest.raises(Error, match='^column: found "latency"; allowed: scenario, contender, seed, index, '):
        outcome.bursts.column("latency")


def test_seeds_and_repetitions_are_those_asked_for(values):
    outcome = simulate(Scenario(**values), seed=40, repetitions=3, contenders=["cubic"])
    frame = polars.DataFrame(outcome.bursts)
    assert sorted(frame["seed"].unique()) == [40, 41, 42]
    assert frame["contender"].unique().to_list() == ["cubic"]


def test_seeds_are_a_range(values):
    asked = {"contenders": ["cubic"]}
    outcome = simulate(Scenario(**values), seeds=range(40, 43), **asked)
    as_well = simulate(Scenario(**values), seed=40, repetitions=3, **asked)
    assert outcome.to_json() == as_well.to_json()
    assert polars.DataFrame(outcome.bursts).equals(polars.DataFrame(as_well.bursts))


def test_any_number_of_threads_gives_the_same_bytes(values, tmp_path):
    one, two = (
        simulate(Scenario(**values), repetitions=4, threads=threads).write(tmp_path / str(threads))
        for threads in (1, 2)
    )
    assert hashes(one) == hashes(two)


def test_tables_of_several_batches_are_one(values):
    # More rows than a batch has, of texts that differ from batch to batch.
    scenario = Scenario(**values).with_({"workload.count": 9999, "workload.interval": "10 ms"})
    scenarios = [scenario.with_(title=f"Path {number}") for number in range(8)]
    outcome = simulate(scenarios, contenders=["cubic", "reno"])
    arrow = pyarrow.table(outcome.bursts)
    assert len(arrow.column("seed").chunks) > 1
    assert arrow.num_rows == len(outcome.bursts) == 8 * 2 * 10_000
    frame = polars.DataFrame(outcome.bursts)
    assert frame["scenario"].to_list() == arrow["scenario"].to_pylist()
    counted = frame.group_by("scenario", "contender").len()
    assert counted.height == 16 and counted["len"].unique().to_list() == [10_000]


def test_several_scenarios_are_one_outcome(values):
    scenarios = [Scenario(**values), Scenario(**values).with_(title="Another")]
    outcome = simulate(scenarios)
    assert repr(outcome) == "<kirikae.Outcome of 2 scenarios, 4 simulations>"
    assert "Another" in outcome._repr_html_()
    with pytest.raises(Error, match="two scenarios are called"):
        simulate([Scenario(**values), Scenario(**values)])


def test_a_title_is_no_markup(values):
    html = simulate(Scenario(**values | {"title": "<b>& more"}))._repr_html_()
    assert "&lt;b&gt;&amp; more" in html and "<b>" not in html


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"contenders": ["nobody"]}, 'contenders: found "nobody"; allowed: all, or each once of'),
        ({"contenders": ["cubic", "cubic"]}, "contenders: "),
        ({"contenders": []}, "contenders: "),
        ({"repetitions": 0}, "repetitions: found 0; allowed: 1 to 10000"),
        ({"repetitions": 10_001}, "repetitions: "),
        ({"seed": -1}, "seed: found -1; allowed: 0 to 18446744073709551615"),
        ({"threads": 0}, "threads: found 0; allowed: 1 to 1024"),
        ({"seeds": range(0)}, "seeds: found range(0, 0); allowed: a range of consecutive numbers"),
        ({"seeds": range(1, 9, 2)}, "seeds: found range(1, 9, 2)"),
        ({"seeds": range(-1, 3)}, "seed: found -1"),
        ({"seeds": [1, 2]}, "seeds: found [1, 2]"),
        ({"seeds": range(1, 3), "repetitions": 2}, "seeds: found seed or repetitions beside it"),
    ],
)
def test_wrong_arguments_are_refused(values, arguments, told):
    with pytest.raises(Error) as raised:
        simulate(Scenario(**values), **arguments)
    assert str(raised.value).startswith(told)


def test_what_only_the_kernel_can_do_is_refused(values):
    values["bench"]["tcp-recovery"] = 1
    with pytest.raises(ScenarioError) as raised:
        simulate(Scenario(**values))
    assert raised.value.key == "bench.tcp-recovery"


def test_records_that_cannot_be_written_are_told(outcome, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Error, match="file"):
        outcome.write(tmp_path / "file")


def test_ctrl_c_ends_it(shallow):
    scenario = f"kirikae.Scenario.load({shallow!r}).with_({{'workload.count': 50000}})"
    assert ends_by_ctrl_c(f"kirikae.simulate({scenario}, repetitions=1000)")


def test_other_threads_go_on(values):
    # Whoever held the interpreter's lock all the time would not let the other count.
    counted = []
    done = threading.Event()

    def count():
        while not done.wait(0.001):
            counted.append(time.monotonic())

    thread = threading.Thread(target=count)
    thread.start()
    begin = time.monotonic()
    simulate(Scenario(**values).with_({"workload.count": 2000}))
    end = time.monotonic()
    done.set()
    thread.join()
    assert any(begin < at < end for at in counted)


def test_the_example_runs(shallow):
    assert set(latencies(shallow)) == {"cubic", "kk_hybla"}


def test_contenders_are_a_table_of_what_the_summary_says(values):
    scenario = Scenario(**values)
    outcome = simulate(scenario, contenders=["cubic", "bbr", "kirikae"], repetitions=3)
    rows = polars.DataFrame(outcome.contenders)
    (told,) = outcome.summary["scenarios"]
    assert rows["scenario"].to_list() == scenario.titles * 3
    for row, it in zip(rows.iter_rows(named=True), told["contenders"], strict=True):
        for name in ("contender", "n", "unfinished", "p50_s", "p95_s", "p99_s", "under_1_s", "queue_drops", "switches"):
            assert row[name] == it[name], name
        assert (row["mean_s"], row["mean_half_width_s"]) == (it["mean_s"]["value"], it["mean_s"]["half_width"])
        for name in ("over_cubic", "over_best_fixed", "over_bound"):
            assert (row[name], row[f"{name}_half_width"]) == (it[name]["value"], it[name]["half_width"]), name
    # The regret of the best is none.
    assert rows["over_best_fixed"].min() <= 1.0
