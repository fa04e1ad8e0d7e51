"""The figures of docs/python.md, of the package as it is installed: `python python/benches/figures.py [NAME ...]`.

The variable KIRIKAE_LAB names the command line, built as the package is.
"""

import contextlib
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import kirikae

ROOT = pathlib.Path(__file__).parents[2]
SHALLOW = ROOT / "scenarios/shallow.toml"
# Turns of each comparison.
TURNS = 5

# A fresh interpreter's first result.
FIRST = """
import time
begin = time.perf_counter()
import kirikae
kirikae.simulate(kirikae.Scenario.load({file!r}), contenders="cubic").to_json()
print(time.perf_counter() - begin)
"""

# The same by a process of its own.
SIMULATE = """
import kirikae
kirikae.simulate(kirikae.Scenario.load({file!r}), contenders="cubic", seeds=range({seeds}), threads=1)
"""


def seconds(what: Callable[[], object]) -> float:
    begin = time.perf_counter()
    what()
    return time.perf_counter() - begin


def medians(*what: Callable[[], object]) -> list[float]:
    """The median time of each, in turns, so that what else the machine does meets all alike."""
    turns = [[seconds(it) for it in what] for _ in range(TURNS)]
    return [statistics.median(times) for times in zip(*turns, strict=True)]


def speed() -> None:
    """The package beside the command line, on one core."""
    os.environ["RAYON_NUM_THREADS"] = "1"
    lab = [os.environ["KIRIKAE_LAB"], "sim", str(SHALLOW), "--json"]
    lab += ["--contenders", "cubic,kirikae", "--repetitions", "1000"]
    scenario = kirikae.Scenario.load(SHALLOW)
    package, command = medians(
        lambda: kirikae.simulate(scenario, contenders=["cubic", "kirikae"], repetitions=1000, threads=1).to_json(),
        lambda: subprocess.run(lab, check=True, stdout=subprocess.DEVNULL),
    )
    print(f"speed: package {package:.3f} s, command line {command:.3f} s: {command / package:.3f} of its speed")


def first() -> None:
    """From import to the first result."""
    program = [sys.executable, "-c", FIRST.format(file=str(SHALLOW))]
    turns = [float(subprocess.run(program, check=True, capture_output=True).stdout) for _ in range(TURNS)]
    print(f"first: {statistics.median(turns):.3f} s from import to the first result")


def frame() -> None:
    """Ten million bursts as a frame of polars."""
    import polars

    scenario = kirikae.Scenario(
        title="Ten million bursts",
        seed=1,
        workload={"burst": "1 kB", "interval": "10 ms", "spacing": "fixed", "count": 9_995, "warmup": 5},
        path={
            "forward": [
                {"element": "rate", "rate": "10 Mbit/s", "queue": "50 packets"},
                {"element": "delay", "delay": "10 ms"},
            ],
            "backward": [{"element": "delay", "delay": "10 ms"}],
        },
    )
    outcome = kirikae.simulate(scenario, contenders="cubic", repetitions=1000)
    before = peak()
    begin = time.perf_counter()
    frame = polars.DataFrame(outcome.bursts)
    took = time.perf_counter() - begin
    rate = frame.height / took / 1e6
    print(f"frame: {frame.height} rows of {frame.width} columns in {took:.2f} s, {rate:.1f} million a second")
    size = frame.estimated_size() / 1e6
    print(f"frame: {size:.0f} MB; peak memory {before:.0f} MB before it, {peak():.0f} MB after it")


def peak() -> float:
    """The most memory that this process has had, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


# Many short bursts, whose results are as much work as results can be; and flows, which have few.
SWEPT = ("shallow-isolated-0.5", "dumbbell")
# Batches of a sweep: of a short one, and of one that is twice as long.
BATCHES = (4, 8)


def batch() -> None:
    """What a batch costs on Ray beside what is computed in it, and the process that asks."""
    with cluster() as engine:
        for sweep in sweeps():
            costs, asking = [], []
            for _ in range(TURNS):
                timed = Timed(engine)
                with one_worker(engine):
                    # So that it is there.
                    sweep.simulate(2, engine=engine, batch=2)
                    begin = time.process_time()
                    took = sweep.simulate(sweep.seeds, engine=timed, batch=sweep.batch)
                asking.append(1000 * (time.process_time() - begin) / sweep.batches)
                costs.append(1000 * (took - timed.seconds) / sweep.batches)
            each = timed.seconds / sweep.batches
            spread = f"{statistics.median(costs):.0f} ({min(costs):.0f} to {max(costs):.0f})"
            print(f"batch: {sweep.name}, {sweep.batches} batches of {each:.1f} s: {spread} ms more than that each")
            print(f"batch: {sweep.name}: who asks computes {statistics.median(asking):.1f} ms for each")


def workers() -> None:
    """What a second worker brings on Ray, and a second process without it."""
    with cluster() as engine:
        for sweep in sweeps():

            def on_ray(sweep: Sweep = sweep) -> None:
                sweep.simulate(sweep.seeds, engine=engine, batch=sweep.batch)

            def on_one(on_ray: Callable[[], None] = on_ray) -> None:
                with one_worker(engine):
                    on_ray()

            on_ray()
            one, two, alone, beside = medians(
                on_one,
                on_ray,
                lambda sweep=sweep: sweep.simulate(sweep.seeds, threads=1),
                lambda sweep=sweep: side_by_side(sweep.file, sweep.seeds // 2),
            )
            told = f"workers: {sweep.name}, {sweep.batches} batches of {one / sweep.batches:.1f} s"
            print(f"{told}: two are {one / two / 2:.2f} of twice as fast as one")
            print(f"{told}: two processes without Ray {alone / beside / 2:.2f} of twice as fast as one")


@contextlib.contextmanager
def cluster() -> Iterator[kirikae.Ray]:
    """A cluster on this machine: a node for each of two workers, and one for nobody."""
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        nodes.add_node(num_cpus=1)
    engine = kirikae.Ray(nodes.address, log_to_driver=False)
    yield engine
    engine.ray.shutdown()
    nodes.shutdown()


@contextlib.contextmanager
def one_worker(engine: kirikae.Ray) -> Iterator[None]:
    """Somebody else has taken the core of the other one."""
    taken = engine.ray.util.placement_group([{"CPU": 1}])
    engine.ray.get(taken.ready())
    yield
    engine.ray.util.remove_placement_group(taken)


class Timed:
    """An engine that tells how many seconds were spent in batches."""

    def __init__(self, engine: kirikae.Ray) -> None:
        self.engine = engine
        self.seconds = 0.0

    def map(self, function, batches):
        def timed(batch):
            begin = time.perf_counter()
            result = function(batch)
            return result, time.perf_counter() - begin

        for result, took in self.engine.map(timed, batches):
            self.seconds += took
            yield result


class Sweep:
    """So many batches of two seconds each."""

    def __init__(self, name: str, batches: int) -> None:
        self.name, self.batches = name, batches
        self.file = ROOT / f"scenarios/{name}.toml"
        self.scenario = kirikae.Scenario.load(self.file)
        few = 40
        # The first takes longer.
        self.simulate(few, threads=1)
        self.batch = round(2 * few / self.simulate(few, threads=1))
        self.seeds = batches * self.batch

    def simulate(self, seeds: int, **by: object) -> float:
        """How many seconds it takes."""
        return seconds(lambda: kirikae.simulate(self.scenario, contenders="cubic", seeds=range(seeds), **by))


def sweeps() -> Iterator[Sweep]:
    for batches in BATCHES:
        for name in SWEPT:
            yield Sweep(name, batches)


def side_by_side(file: pathlib.Path, seeds: int) -> None:
    """Simulates so many seeds in each of two processes at once."""
    program = [sys.executable, "-c", SIMULATE.format(file=str(file), seeds=seeds)]
    processes = [subprocess.Popen(program) for _ in range(2)]
    for process in processes:
        assert process.wait() == 0


if __name__ == "__main__":
    FIGURES = {it.__name__: it for it in (speed, first, frame, batch, workers)}
    for name in sys.argv[1:] or FIGURES:
        FIGURES[name]()
