import pathlib

import pytest
from kirikae import Error, Scenario, ScenarioError, simulate


def refusal(make):
    with pytest.raises(ScenarioError) as raised:
        make()
    return raised.value


def test_a_file_is_read(shallow):
    scenario = Scenario.load(pathlib.Path(shallow))
    assert scenario.titles == ["Shallow queue, 3 Mbit/s"]
    assert scenario.file == shallow
    assert "cubic" in scenario.contenders
    assert repr(scenario) == f'<kirikae.Scenario "Shallow queue, 3 Mbit/s", {shallow}>'


def test_a_dict_and_keyword_arguments_say_the_same(values):
    assert Scenario.from_dict(values).toml == Scenario(**values).toml
    assert Scenario.from_toml(Scenario(**values).toml).toml == Scenario(**values).toml


def test_a_refusal_says_file_line_key_and_what_is_allowed(shallow, tmp_path):
    file = tmp_path / "wrong.toml"
    lines = pathlib.Path(shallow).read_text().splitlines()
    (at,) = [number for number, line in enumerate(lines, 1) if line.startswith("interval")]
    lines[at - 1] = 'interval = "2 MB"'
    file.write_text("\n".join(lines))
    error = refusal(lambda: Scenario.load(file))
    assert isinstance(error, Error)
    assert (error.file, error.line, error.key) == (str(file), at, "workload.interval")
    assert "2 MB" in error.message and "; allowed: " in error.message
    assert str(error) == f"{file}:{at}: workload.interval: {error.message}"


def test_a_dict_is_refused_as_a_file_is(values):
    values["workload"]["burts"] = "16 KiB"
    error = refusal(lambda: Scenario.from_dict(values, file="mine.toml"))
    assert (error.file, error.line, error.key) == ("mine.toml", None, "workload.burts")
    assert "did you mean burst?" in error.message
    del values["workload"]["burts"]
    values["path"]["forward"][0]["rate"] = 5
    assert refusal(lambda: Scenario(**values)).key == "path.forward[0].rate"


@pytest.mark.parametrize("wrong", [None, {1, 2}, 2**63, object(), b"1 s"])
def test_what_toml_has_not_is_refused_with_its_key(values, wrong):
    values["path"]["backward"][0]["delay"] = wrong
    error = refusal(lambda: Scenario(**values))
    assert error.key == "path.backward[0].delay"
    assert "allowed: a text, a number" in error.message


def test_no_file_is_told():
    error = refusal(lambda: Scenario.load("/nowhere.toml"))
    assert (error.file, error.line, error.key) == ("/nowhere.toml", None, None)


def test_changes_are_by_the_names_that_refusals_have(values):
    scenario = Scenario(**values)
    changed = scenario.with_(
        {"workload.burst": "32 KiB", "path.forward[0].rate": "9 Mbit/s", "bench": None},
        title="Changed",
    )
    assert changed.titles == ["Changed"]
    assert 'burst = "32 KiB"' in changed.toml
    assert 'rate = "9 Mbit/s"' in changed.toml
    assert "bench" not in changed.toml
    # What was there is as it was.
    assert scenario.toml == Scenario(**values).toml


@pytest.mark.parametrize(
    "key",
    ["path.forward[2].rate", "title.more", "path.forward.rate", "[0]", "a..b", "path.forward[x]"],
)
def test_a_change_of_what_is_not_there_is_refused(values, key):
    assert refusal(lambda: Scenario(**values).with_({key: 1})).key == key
    with pytest.raises(ScenarioError):
        Scenario(**values).with_({key: None})


def test_a_change_is_checked(values):
    error = refusal(lambda: Scenario(**values).with_({"workload.burst": "16 ms"}))
    assert (error.line, error.key) == (None, "workload.burst")


def test_a_sweep_is_several_scenarios(values):
    values["title"] = "Burst $burst"
    values["workload"]["burst"] = "$burst"
    values["sweep"] = {"burst": ["16 KiB", "32 KiB"]}
    scenario = Scenario(**values)
    assert len(scenario) == 2
    assert scenario.titles == ["Burst 16 KiB", "Burst 32 KiB"]
    outcome = simulate(scenario)
    assert [it["title"] for it in outcome.summary["scenarios"]] == scenario.titles
