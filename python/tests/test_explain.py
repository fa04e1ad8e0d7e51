import json
import subprocess
import warnings

import polars
import pyarrow
import pytest
from conftest import ROOT
from example import choices
from kirikae import Error, LatencyTable, explain

SHIPPED = ROOT / "tables/default.csv"


# Each with the options of the command line that say the same.
@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({}, []),
        ({"loss": 0.01}, ["0.01"]),
        ({"loss": "3 %", "burst_loss": "0.1%", "queue": 1000}, ["3%", "--burst-loss", "0.001", "--queue", "1000"]),
        ({"loss": 1e-7, "rate": 2.5, "burst": 10**9}, ["1e-7", "--rate", "2.5", "--burst", "1000000000"]),
        ({"rate": "20", "stream": 4.8}, ["--rate", "20", "--stream", "4.8"]),
        ({"friendliness": "friendly"}, ["--friendliness", "friendly"]),
        ({"friendliness": "fast", "burst": 10**9}, ["--friendliness", "fast", "--burst", "1000000000"]),
        ({"table": LatencyTable.shipped()}, ["--table", str(SHIPPED)]),
        (
            {"table": LatencyTable.shipped(), "friendliness": "balanced"},
            ["--table", str(SHIPPED), "--friendliness", "balanced"],
        ),
    ],
)
def test_it_tells_what_the_command_line_tells(command, arguments, options):
    def told(*more):
        return subprocess.run([command, "explain", "200ms", *options, *more], check=True, capture_output=True).stdout

    explanation = explain("200ms", **arguments)
    assert explanation.to_json().encode() == told("--json")
    assert str(explanation).encode() == told()


def test_candidates_are_tables():
    explanation = explain("200ms", "3%")
    everything = json.loads(explanation.to_json())
    assert pyarrow.table(explanation.candidates).to_pylist() == everything["candidates"]
    assert polars.DataFrame(explanation.by_loss).to_dicts() == everything["by_loss"]
    assert explanation.candidates.column("name")[0] == explanation.chosen
    count = len(explanation.candidates)
    assert repr(explanation) == f"<kirikae.Explanation: {explanation.chosen} of {count} candidates>"
    assert explanation._repr_html_() == f"<pre>{explanation}</pre>"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"rtt": "5s"}, "rtt: found 5s; allowed: a time from 1us to 4s with its unit"),
        ({"rtt": 0.2}, "rtt: found 0.2; allowed: a time from 1us to 4s with its unit"),
        ({"loss": 1.5}, "loss: found 1.5; allowed: a share from 0 to 1, or a percentage such as 1%"),
        ({"burst_loss": "2"}, "burst_loss: found 2; allowed: a share from 0 to 1"),
        ({"rate": 0}, "rate: found 0; allowed: a number of Mbit/s from 0.01 to 100000"),
        ({"rate": float("nan")}, "rate: found NaN; allowed: "),
        ({"queue": 0}, "queue: found 0; allowed: 1 to 4294967295"),
        ({"burst": -1}, "burst: found -1; allowed: 1 to 4294967295"),
        ({"stream": 10}, "stream: 10 Mbit/s; allowed: less than rate"),
        ({"stream": 1, "burst": 1}, "burst: found stream beside it; allowed: one of the two"),
        ({"friendliness": "fair"}, 'friendliness: found "fair"; allowed: friendly, balanced, fast'),
    ],
)
def test_what_is_not_allowed_is_refused(arguments, told):
    with pytest.raises(Error) as raised:
        explain(**{"rtt": "200ms"} | arguments)
    assert str(raised.value).startswith(told)


def test_the_table_that_ships_has_a_row_for_each_place_and_algorithm():
    table = LatencyTable.shipped()
    rows = polars.DataFrame(table.rows)
    assert rows.height == len(table) * len(table.algorithms)
    assert repr(table).startswith(f"<kirikae.LatencyTable of {len(table)} places: ")
    place = {"rtt_ms": 200, "rate_mbit": 10, "burst_bytes": 65536, "loss": 0.01, "burst_loss": 0, "queue": 100}
    found = rows.filter(**place)
    assert found["algorithm"].to_list() == table.algorithms
    (line,) = [
        line for line in SHIPPED.read_text().splitlines() if line.startswith("200,10,65536,0.01,0,100,")
    ]
    written = [float(it) for it in line.split(",")[6:]]
    assert [it for row in found.select("latency_s", "isolated", "bursts").rows() for it in row] == written
    streams = rows.filter(polars.col("burst_bytes").is_null())
    assert streams.height > 0 and streams["stream_share"].is_between(0, 1).all()


def test_a_table_is_read_and_told_as_it_is():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert LatencyTable.load(SHIPPED).to_text() == SHIPPED.read_text() == LatencyTable.shipped().to_text()


def test_a_table_of_other_sources_is_told(tmp_path):
    file = tmp_path / "table.csv"
    lines = SHIPPED.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not line.startswith("# Inputs")))
    with pytest.warns(UserWarning, match=f"^{file}: its header does not say what it was measured with"):
        LatencyTable.load(file)


@pytest.mark.parametrize(
    ("text", "told"), [("", "line 1: not the first line of a table: "), (None, "No such file or directory")]
)
def test_what_is_no_table_is_refused(tmp_path, text, told):
    file = tmp_path / "table.csv"
    if text is not None:
        file.write_text(text)
    with pytest.raises(Error) as raised:
        LatencyTable.load(file)
    assert str(raised.value).startswith(f"{file}: {told}")


def test_the_example_tells_choices():
    assert len(choices("100ms")) > 3
