import re
import subprocess

import polars
import pytest
from conftest import ends_by_ctrl_c
from kirikae import Error, LatencyTable, Processes, Scenario, Threads, drawn_path, search, simulate
from kirikae._kirikae import SearchOptions
from kirikae.batches import Failed
from test_characterize import kept
from test_engines import Counting, cluster  # noqa: F401

# Against the best of these the switcher loses somewhere.
ASKED = {"count": 6, "climbs": 0, "than": ["kk_hybla", "bbr"]}
OPTIONS = ["--count", "6", "--climbs", "0", "--than", "kk_hybla,bbr"]


@pytest.fixture(scope="module")
def found():
    return search(**ASKED)


def told(lab, *options):
    """What the command line prints."""
    return subprocess.run([lab, "search", *options], capture_output=True, text=True).stdout


def timeless(text):
    """Without how long it took."""
    return re.sub(r'"wall_s": .*|\d+ s\n$', "", text)


def files(directory):
    return {file.name: file.read_bytes() for file in directory.iterdir()}


def test_it_finds_what_the_command_line_finds(lab, found, tmp_path):
    text = told(lab, *OPTIONS, "--output", str(tmp_path / "command"))
    assert timeless(str(found)) == timeless(text) != text
    assert timeless(found.to_json()) == timeless(told(lab, *OPTIONS, "--json"))
    found.write(tmp_path / "package")
    assert files(tmp_path / "package") == files(tmp_path / "command") != {}


def test_finds_are_tables(found):
    finds = polars.DataFrame(found.finds)
    assert finds.height == len(found.summaries[0]["finds"]) > 0
    assert (finds["ratio"] >= 1.1).all() and (finds["found_ratio"] >= 1.1).all()
    assert finds["path"].to_list() == [it["reduced"]["path"] for it in found.summaries[0]["finds"]]
    scenario = Scenario.from_toml(finds["scenario"][0])
    assert scenario.titles == [finds["title"][0]]
    assert polars.DataFrame(found.worst).height == len(found.summaries[0]["worst"])
    assert repr(found) == f"<kirikae.Search of 1 seeds: {finds.height} finds>"
    assert found._repr_html_().startswith("<pre>6 paths of seed 1")


@pytest.fixture(scope="module")
def climbed():
    return search(count=40, climbs=2)


@pytest.mark.parametrize("name", ["threads", "processes", "ray"])
def test_a_search_is_divided_by_an_engine(climbed, name, request):
    engines = {"threads": Threads(2), "processes": Processes(2)}
    engine = engines[name] if name in engines else request.getfixturevalue("cluster")
    divided = search(count=40, climbs=2, engine=engine, batch=7)
    assert timeless(divided.to_json()) == timeless(climbed.to_json())
    assert polars.DataFrame(divided.finds).equals(polars.DataFrame(climbed.finds))


def test_several_seeds_are_several_searches(found, tmp_path):
    both = search(seed=range(1, 3), **ASKED, engine=Processes(2), batch=4)
    assert [it["seed"] for it in both.summaries] == [1, 2]
    second = search(seed=2, **ASKED)
    assert timeless(both.to_json()) == timeless(found.to_json()) + timeless(second.to_json())
    finds = polars.DataFrame(both.finds)
    assert finds.equals(polars.concat([polars.DataFrame(found.finds), polars.DataFrame(second.finds)]))
    both.write(tmp_path / "both")
    for one in (found, second):
        seed = one.summaries[0]["seed"]
        one.write(tmp_path / str(seed))
        assert files(tmp_path / str(seed)) == files(tmp_path / f"both/seed-{seed}")


def test_climbs_are_those_of_the_command_line(lab, climbed):
    assert timeless(climbed.to_json()) == timeless(told(lab, "--count", "40", "--climbs", "2", "--json"))


def test_options_are_those_of_the_command_line(lab, tmp_path):
    (tmp_path / "table.csv").write_text(LatencyTable.shipped().to_text())
    options = ["--seed", "7", "--count", "3", "--climbs", "0", "--new-connections", "careful", "--loss", "1.5"]
    options += ["--table", str(tmp_path / "table.csv"), "--friendliness", "friendly"]
    asked = {"seed": 7, "count": 3, "climbs": 0, "new_connections": "careful", "loss": 1.5}
    asked |= {"table": LatencyTable.load(tmp_path / "table.csv"), "friendliness": "friendly"}
    assert timeless(search(**asked).to_json()) == timeless(told(lab, *options, "--json"))


def test_a_campaign_keeps_paths_and_climbs(climbed, tmp_path):
    counting = Counting()
    kept_of = []
    # More paths, the same, and another loss.
    for asked in ({"count": 20}, {"count": 40}, {"count": 40}, {"count": 40, "loss": 1.2}):
        again = search(**asked, climbs=2, engine=counting, batch=10, campaign=tmp_path)
        kept_of.append(again)
    paths, climbs = counting.counts[::2], counting.counts[1::2]
    assert paths == [2, 2, 0, 4] and climbs[2] == 0
    assert timeless(kept_of[2].to_json()) == timeless(climbed.to_json())
    assert len(kept(tmp_path)) == sum(counting.counts)


def test_a_batch_that_fails_is_told_with_its_paths():
    class Failing:
        def map(self, function, every):
            return (Failed(it.number, "no time") for it in every)

    with pytest.raises(Error, match="^2 of 2 batches failed:\nseed 1, 4 paths from 0: no time\nseed 1, 2 paths from 4"):
        search(**ASKED, engine=Failing(), batch=4)


def test_a_drawn_path_is_simulated_as_it_is_met():
    scenario = drawn_path(0, seed=3, than=["cubic", "reno"])
    assert scenario.contenders == ["cubic", "reno", "kirikae"]
    assert scenario.toml == SearchOptions(3, "cubic,reno", None, 2, None, None).path(0)
    assert len(simulate(scenario).flows) >= 3
    with pytest.raises(Error, match="^index: found -1; allowed: 0 to "):
        drawn_path(-1)


def test_a_drawn_path_is_that_of_the_command_line(lab):
    options = ["--only", "4711", "--seed", "2", "--new-connections", "none"]
    assert drawn_path(4711, seed=2, new_connections="none").toml == told(lab, *options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "^seed: found -1; allowed: 0 to 18446744073709551615$"),
        ({"count": 0}, "^count: found 0; allowed: 1 to 100000000$"),
        ({"climbs": 1001}, "^climbs: found 1001; allowed: 0 to 1000$"),
        ({"than": "kirikae"}, '^than: found "kirikae"; allowed: any others$'),
        ({"than": "nobody"}, '^than: found "nobody"; allowed: all, or each once of '),
        ({"new_connections": "warm"}, '^new_connections: found "warm"; allowed: none, '),
        ({"loss": 1}, "^loss: found 1; allowed: above 1, up to 100$"),
        ({"loss": float("nan")}, "^loss: found NaN; allowed: "),
        ({"friendliness": "kind"}, '^friendliness: found "kind"; allowed: friendly, balanced, fast$'),
        ({"batch": 0}, "^batch: found 0; allowed: 1 to 10000$"),
        ({"threads": 0}, "^threads: found 0; allowed: 1 to 1024$"),
        ({"engine": 7}, r"^engine: found 7; allowed: what has map\(function, batches\)$"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(Error, match=message):
        search(**(ASKED | arguments))


def test_finds_go_into_an_empty_directory(found, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(Error, match="^writing .*: it is not empty; allowed: a new or empty directory$"):
        found.write(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_ctrl_c_ends_it():
    assert ends_by_ctrl_c("kirikae.search(count=100_000)")
