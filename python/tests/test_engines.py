import contextlib
import hashlib
import multiprocessing
import os
import pathlib
import pickle
import sys
import types
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

import dying
import kirikae
import pyarrow
import pytest
from conftest import ROOT
from kirikae import BatchError, Error, Processes, Scenario, Threads, batches, simulate
from kirikae._kirikae import Plan
from kirikae.rounds import rounds

try:
    import ray
except ImportError:
    ray = None

# A packet every 3 ms.
RECORDING = "3\n"


@pytest.fixture
def scenarios(values, tmp_path):
    """With switches and losses; a sweep that names a file, which is gone when it is simulated."""
    file = tmp_path / "path.toml"
    recording = tmp_path / "rate.txt"
    recording.write_text(RECORDING)
    shallow = Scenario.load(ROOT / "scenarios/shallow.toml").with_({"workload.count": 8})
    values["title"] = "Burst $burst"
    values["workload"]["burst"] = "$burst"
    values["sweep"] = {"burst": ["16 KiB", "32 KiB"]}
    values["path"]["forward"][0] = {
        "element": "rate",
        "file": "rate.txt",
        "queue": "20 packets",
    }
    swept = Scenario.from_dict(values, file=str(file))
    assert swept.named == {"rate.txt": RECORDING}
    recording.unlink()
    return [shallow, swept]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Ray on this machine, whose workers find what is beside this file."""
    if ray is None:
        pytest.skip("Ray is not installed (pip install 'kirikae[ray]')")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DYING", str(tmp_path_factory.mktemp("dying")))
        patch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parent))
        yield kirikae.Ray("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        ray.shutdown()


@pytest.fixture
def workers(monkeypatch, tmp_path):
    """Lets processes find what is beside this file."""
    monkeypatch.setenv("DYING", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parent))


def digest(outcome, directory):
    """Of all that an outcome says and writes."""
    told = hashlib.sha256(outcome.to_json().encode())
    for table in (outcome.bursts, outcome.flows, outcome.switches):
        rows = pyarrow.table(table)
        assert rows.num_rows > 0
        told.update(repr(rows.to_pylist()).encode())
    for file in sorted(outcome.write(directory).iterdir()):
        told.update(file.name.encode() + file.read_bytes())
    return told.hexdigest()


ENGINES = {
    "threads": lambda: Threads(2),
    "processes": lambda: Processes(2),
    "thread-pool": lambda: ThreadPoolExecutor(2),
    "process-pool": lambda: ProcessPoolExecutor(2, multiprocessing.get_context("spawn")),
    "map": lambda: types.SimpleNamespace(map=map),
    "ray": None,
}


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_gives_the_same_bytes(scenarios, name, tmp_path, request):
    arguments = {"contenders": ["cubic", "kirikae"], "seeds": range(2**64 - 3, 2**64 + 2)}
    engine = ENGINES[name]() if ENGINES[name] else request.getfixturevalue("cluster")
    try:
        outcome = simulate(scenarios, **arguments, engine=engine, batch=2)
    finally:
        if isinstance(engine, Executor):
            engine.shutdown()
    alone = simulate(scenarios, **arguments)
    assert digest(outcome, tmp_path / "engine") == digest(alone, tmp_path / "alone")


def records(outcome, directory):
    return {file.name: file.read_bytes() for file in outcome.write(directory).iterdir()}


# Answers on connections of their own, a video beside other flows, what is listed of losses, and a path known before.
@pytest.mark.parametrize("name", ["new-connections/beside", "mixed", "outages/1s", "shallow-isolated-0.5"])
def test_what_travels_is_what_was_simulated(name, tmp_path):
    scenario = Scenario.load(ROOT / f"scenarios/{name}.toml")
    arguments = {"contenders": ["cubic", "kirikae"], "repetitions": 2}
    alone = simulate(scenario, **arguments)
    outcome = simulate(scenario, **arguments, engine=Threads(2))
    assert records(outcome, tmp_path / "engine") == records(alone, tmp_path / "alone")
    assert str(outcome) == str(alone)


def some(values, count=6):
    """A sweep's batches, each of one seed."""
    (series,) = batches.of_plan(Plan(Scenario(**values), repetitions=count, contenders="cubic"), {})
    (every,) = rounds([(series, range(count))], 1, {})
    return every


def by_number(results):
    return sorted(results, key=lambda result: result.number)


def test_a_batch_whose_process_was_killed_is_done_again(values, workers):
    every = some(values)
    expected = [batches.run(batch) for batch in every]
    assert by_number(Processes(2).map(dying.once, every)) == expected


def test_a_batch_that_kills_its_processes_is_given_up_and_the_others_go_on(values, workers):
    first, *others = by_number(Processes(2).map(dying.always, some(values)))
    assert first == batches.Failed(0, "its worker died 3 times")
    assert others == [batches.run(batch) for batch in some(values)[1:]]


def test_ray_does_a_batch_again_whose_process_was_killed(values, cluster):
    every = some(values)
    assert by_number(cluster.map(dying.once, every)) == [batches.run(batch) for batch in every]
    first, *others = by_number(cluster.map(dying.always, every))
    assert first.number == 0 and first.why.startswith("Ray gave it up: ")
    assert others == [batches.run(batch) for batch in every[1:]]


def test_no_process_is_left_when_nobody_wants_more(values):
    values["workload"]["count"] = 50_000
    before = children()
    results = Processes(2).map(batches.run, some(values, 200))
    next(results)
    assert len(children() - before) == 2
    results.close()
    assert children() == before


def children():
    """The processes that this one has begun."""
    return {status.parent.name for status in pathlib.Path("/proc").glob("[0-9]*/status") if is_child(status)}


def is_child(status):
    # It may be gone by now.
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return f"PPid:\t{os.getpid()}\n" in status.read_text()


def test_a_batch_that_fails_is_told_and_the_others_are_kept(values, tmp_path):
    class Other:
        """A worker of other code gets one of the batches."""

        def map(self, function, every):
            other = pickle.loads(pickle.dumps(every[1]))
            object.__setattr__(other, "code", "0.0.1-0")
            return map(function, [every[0], other, *every[2:]])

    arguments = {"contenders": "cubic", "seeds": range(5, 11), "batch": 2, "campaign": tmp_path / "campaign"}
    with pytest.raises(BatchError) as raised:
        simulate(Scenario(**values), engine=Other(), **arguments)
    # Five bursts of each seed.
    outcome = raised.value.outcome
    assert outcome.bursts.column("seed") == [seed for seed in (5, 6, 9, 10) for _ in range(5)]
    assert outcome.summary["interrupted"] and "INTERRUPTED" in str(outcome)
    failures, told = str(raised.value).splitlines()
    assert failures == "1 of 3 batches failed:"
    assert told.startswith(f'"From Python", cubic, 2 seeds from 7: found Kirikae {batches.code()} on a worker')
    counting = Counting()
    outcome = simulate(Scenario(**values), engine=counting, **arguments)
    assert counting.counts == [1]
    assert not outcome.summary["interrupted"]


class Counting:
    """An engine that counts what it is asked for."""

    def __init__(self):
        self.counts = []

    def map(self, function, every):
        self.counts.append(len(every))
        return map(function, every)


def test_an_engine_that_breaks_is_told(values):
    # The executor cannot be used any more, and nobody but who made it can make another.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(sys.exit).exception()
        pool.submit(dying.os.abort).exception()
        with pytest.raises(Error, match="^the engine failed with 0 of 2 simulations done: BrokenProcessPool: "):
            simulate(Scenario(**values), engine=pool)


def test_an_engine_that_gives_too_little_is_told(values):
    engine = types.SimpleNamespace(map=lambda function, every: [])
    with pytest.raises(BatchError, match="^the engine gave 0 of 2 simulations; allowed: all$") as raised:
        simulate(Scenario(**values), engine=engine)
    assert len(raised.value.outcome.bursts) == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"engine": 7}, r"^engine: found 7; allowed: what has map\(function, batches\)$"),
        ({"engine": map, "threads": 2}, "^threads: found an engine beside it"),
        ({"engine": map, "batch": 0}, "^batch: found 0; allowed: 1 to 10000$"),
    ],
)
def test_wrong_arguments_are_refused(values, arguments, told):
    with pytest.raises(Error, match=told):
        simulate(Scenario(**values), **arguments)


def test_a_wrong_number_of_workers_is_refused():
    for engine in (Threads, Processes):
        with pytest.raises(Error, match="^workers: found 0; allowed: 1 to 1024$"):
            engine(0)


def test_ray_that_is_not_there_or_another_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(Error, match=r"^Ray is not installed; allowed: from 2.60 up to 3: pip install"):
        kirikae.Ray()
    monkeypatch.setitem(sys.modules, "ray", types.SimpleNamespace(__version__="2.9.3"))
    with pytest.raises(Error, match=r"^found Ray 2.9.3; allowed: from 2.60 up to 3: "):
        kirikae.Ray()


def test_a_scenario_travels_with_the_files_that_it_names(scenarios):
    for scenario in scenarios:
        again = pickle.loads(pickle.dumps(scenario))
        assert (again.toml, again.file, again.named) == (scenario.toml, scenario.file, scenario.named)
