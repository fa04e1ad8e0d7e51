import pathlib
import re
import signal
import subprocess
import sys
import time

import duckdb
import polars
import pytest
from conftest import ROOT
from kirikae import Error, Scenario, batches, simulate
from test_engines import Counting

SEEDS = range(1, 41)

# A sweep of seconds.
DRIVER = """
import kirikae, sys
file, campaign = sys.argv[1:]
kirikae.simulate(kirikae.Scenario.load(file), contenders=["cubic", "kk_hybla"], seeds=range(1, 41),
                 engine=kirikae.Processes(2), batch=1, campaign=campaign)
"""


def kept(campaign):
    """The results that are in it."""
    return sorted(campaign.glob("*.parquet"))


def runs(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


def test_what_a_killed_driver_had_done_is_not_done_again(values, tmp_path):
    values["workload"]["count"] = 2000
    scenario = Scenario(**values)
    (tmp_path / "scenario.toml").write_text(scenario.toml)
    campaign = tmp_path / "campaign"
    command = [sys.executable, "-c", DRIVER, str(tmp_path / "scenario.toml"), str(campaign)]
    with subprocess.Popen(command) as driver:
        while len(kept(campaign)) < 10:
            assert driver.poll() is None, "it ended before it was killed"
            time.sleep(0.001)
        children = pathlib.Path(f"/proc/{driver.pid}/task").glob("*/children")
        workers = [worker for child in children for worker in child.read_text().split()]
        driver.kill()
    assert driver.returncode == -signal.SIGKILL and len(workers) == 2
    there = len(kept(campaign))
    assert 10 <= there < 80
    # Its workers end by themselves, with the batches that they were at.
    while any(runs(worker) for worker in workers):
        time.sleep(0.01)

    arguments = {"contenders": ["cubic", "kk_hybla"], "seeds": SEEDS}
    engine = Counting()
    for _ in range(2):
        outcome = simulate(scenario, **arguments, engine=engine, batch=1, campaign=campaign)
        assert outcome.to_json() == simulate(scenario, **arguments).to_json()
    # The second time everything is there.
    assert engine.counts == [80 - there]


def test_only_what_changed_is_simulated(values, tmp_path):
    scenario = Scenario(**values)
    engine = Counting()

    def count(scenario, **arguments):
        outcome = simulate(scenario, engine=engine, campaign=tmp_path / "campaign", batch=2, **arguments)
        assert outcome.to_json() == simulate(scenario, **arguments).to_json()
        return engine.counts.pop() if engine.counts else 0

    assert count(scenario, seeds=range(1, 5)) == 4
    assert count(scenario, seeds=range(1, 9)) == 4
    assert count(scenario, seeds=range(2, 8)) == 0
    # Two before what is there and three behind it, of each of the two contenders.
    assert count(scenario.with_(title="Moved"), seeds=range(4, 8)) == 4
    assert count(scenario.with_(title="Moved"), seeds=range(2, 11)) == 6
    assert count(scenario, seeds=range(1, 9), contenders=["cubic", "reno"]) == 4
    assert count(scenario.with_({"workload.count": 5}), seeds=range(1, 5)) == 4
    assert count([scenario, scenario.with_(title="Another")], seeds=range(1, 9)) == 8


def test_jobs_of_a_scheduler_share_a_campaign(values, tmp_path):
    scenario = Scenario(**values)
    (tmp_path / "sweep.toml").write_text(scenario.toml)
    text = (ROOT / "docs/python.md").read_text()
    (program,) = re.findall(r"^```python\n(# sweep.py: .*?)^```$", text, re.MULTILINE | re.DOTALL)

    def job(*part):
        return subprocess.Popen(
            [sys.executable, "-c", program, *part], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )

    jobs = [job(str(part)) for part in range(10)]
    for it in jobs:
        it.communicate()
        assert it.returncode == 0
    engine = Counting()
    arguments = {"seeds": range(1, 1001)}
    outcome = simulate(scenario, **arguments, engine=engine, campaign=tmp_path / "campaign")
    assert engine.counts == []
    assert outcome.to_json() == simulate(scenario, **arguments).to_json()
    assert job().communicate()[0] == str(outcome).replace("scenario.toml", "sweep.toml") + "\n"


def test_a_campaign_needs_no_engine(values, tmp_path):
    outcome = simulate(Scenario(**values), campaign=tmp_path, threads=2)
    assert outcome.to_json() == simulate(Scenario(**values)).to_json()
    assert len(kept(tmp_path)) == 2


def test_damaged_results_are_simulated_again(values, tmp_path):
    engine = Counting()
    for _ in range(2):
        simulate(Scenario(**values), engine=engine, campaign=tmp_path)
        first, second = kept(tmp_path)
        first.write_bytes(first.read_bytes()[:-20])
        content = bytearray(second.read_bytes())
        content[1000] ^= 1
        second.write_bytes(content)
    assert engine.counts == [2, 2]


def test_other_packages_read_a_campaign(values, tmp_path):
    outcome = simulate(Scenario(**values), repetitions=4, campaign=tmp_path, batch=3)
    files = polars.scan_parquet(tmp_path / "*.parquet").sort("contender", "seed")
    bursts = files.select("scenario", "contender", "seed", "bursts").explode("bursts").unnest("bursts").collect()
    assert bursts.columns == outcome.bursts.column_names
    assert bursts.rows() == polars.DataFrame(outcome.bursts).rows()
    counted = duckdb.sql(f"""
        SELECT contender, count(*), max(burst.latency_s)
        FROM (SELECT contender, unnest(bursts) AS burst FROM '{tmp_path}/*.parquet')
        GROUP BY contender ORDER BY contender
    """).fetchall()
    expected = bursts.group_by("contender").agg(polars.len(), polars.col("latency_s").max()).sort("contender")
    assert counted == expected.rows()


@pytest.mark.parametrize(
    ("content", "found"), [({"code": "0.0.1-0\n", "a" * 64: ""}, "0.0.1-0"), ({"letter": ""}, "none")]
)
def test_a_directory_of_something_else_is_refused(values, tmp_path, content, found):
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(Error) as raised:
        simulate(Scenario(**values), campaign=tmp_path)
    allowed = f"allowed: a directory of {batches.code()}, an empty one, or one that is not there"
    assert str(raised.value) == f"campaign: {tmp_path} is of Kirikae {found}; {allowed}"
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == content


def test_a_campaign_that_cannot_be_written_is_told(values, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Error, match="^campaign: .*file"):
        simulate(Scenario(**values), campaign=tmp_path / "file")
