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


def ray() -> None:
    """What a batch of some seconds costs on Ray beside the same in this process, and what a second worker brings."""
    with cluster() as engine:
        # Many short bursts, whose results are as much work as results can be; and flows, which have few.
        batches_on_ray(engine, "shallow-isolated-0.5", batch=1000, seeds=4_000)
        batches_on_ray(engine, "dumbbell", batch=60, seeds=240)


def sweep() -> None:
    """The same of flows in three times as many batches."""
    with cluster() as engine:
        batches_on_ray(engine, "dumbbell", batch=60, seeds=720)


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


def batches_on_ray(engine: kirikae.Ray, name: str, batch: int, seeds: int) -> None:
    file = ROOT / f"scenarios/{name}.toml"
    scenario = kirikae.Scenario.load(file)
    batches = seeds // batch
    driver = []

    def on_ray(workers: int) -> None:
        # Somebody else takes the core of a worker that is to be idle.
        taken = [engine.ray.util.placement_group([{"CPU": 1}]) for _ in range(2 - workers)]
        for it in taken:
            engine.ray.get(it.ready())
        begin = time.process_time()
        kirikae.simulate(scenario, contenders="cubic", seeds=range(seeds), engine=engine, batch=batch)
        driver.append(time.process_time() - begin)
        for it in taken:
            engine.ray.util.remove_placement_group(it)

    # So that the workers are there.
    on_ray(2)
    alone, one, two, beside = medians(
        lambda: kirikae.simulate(scenario, contenders="cubic", seeds=range(seeds), threads=1),
        lambda: on_ray(1),
        lambda: on_ray(2),
        lambda: side_by_side(file, seeds // 2),
    )
    cost = 1000 * (one - alone) / batches
    spent = 1000 * statistics.median(driver) / batches
    print(f"ray: {name}, {batches} batches of {alone / batches:.2f} s: {cost:.0f} ms more a batch")
    print(f"ray: {name}, {one:.2f} s with one worker, {two:.2f} s with two: {one / two / 2:.2f} of twice as fast")
    print(f"ray: {name}, two processes without Ray: {alone / beside / 2:.2f} of twice as fast as one")
    print(f"ray: {name}, this process computes {spent:.1f} ms for a batch")


def side_by_side(file: pathlib.Path, seeds: int) -> None:
    """Simulates so many seeds in each of two processes at once."""
    program = [sys.executable, "-c", SIMULATE.format(file=str(file), seeds=seeds)]
    processes = [subprocess.Popen(program) for _ in range(2)]
    for process in processes:
        assert process.wait() == 0


if __name__ == "__main__":
    FIGURES = {it.__name__: it for it in (speed, first, frame, ray, sweep)}
    for name in sys.argv[1:] or FIGURES:
        FIGURES[name]()
