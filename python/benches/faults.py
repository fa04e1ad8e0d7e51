"""What becomes of a sweep of 2,000 batches on Ray when something dies: `python python/benches/faults.py`.

Three nodes with a worker each, on this machine. A worker is killed, then a node is removed, then the program that asked
is killed and begun again. It is an error if a batch is lost, if one is begun again that was not running or on its way to
the program when something died, or if a byte comes out otherwise than without Ray. It takes some minutes.
"""

import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import kirikae
from kirikae import batches

FILE = pathlib.Path(__file__).parents[2] / "scenarios/shallow-isolated-0.5.toml"
# A batch of one seed takes about a tenth of a second.
SCENARIO = kirikae.Scenario.load(FILE).with_({"workload.count": 5000})
ASKED = {"contenders": ["cubic", "kk_hybla"], "seeds": range(1000)}
BATCHES = 2000
NODES = 3
# So many results are kept when the worker, the node and the program go.
WORKER, NODE, PROGRAM = 400, 800, 1200


def logged(batch: batches.Batch) -> batches.Result:
    """Simulates a batch, and appends a line when it begins and when it ends."""

    def line(what: str) -> None:
        with open(os.environ["LOG"], "a") as file:
            file.write(f"{what} {batch.series.contender} {batch.seed} {os.getpid()}\n")

    line("begin")
    result = batches.run(batch)
    line("end")
    return result


class Logged:
    """Ray, whose batches are logged."""

    def __init__(self, address: str) -> None:
        environment = {"env_vars": {"LOG": os.environ["LOG"]}}
        self.ray = kirikae.Ray(address, log_to_driver=False, runtime_env=environment)

    def map(self, function, every):
        return self.ray.map(logged, every)


def digest(outcome: kirikae.Outcome) -> str:
    """Of all that an outcome says and writes."""
    told = hashlib.sha256(outcome.to_json().encode())
    with tempfile.TemporaryDirectory() as directory:
        for file in sorted(outcome.write(directory).iterdir()):
            told.update(file.name.encode() + file.read_bytes())
    return told.hexdigest()


def program(address: str, campaign: str) -> None:
    """Asks for the sweep."""
    print(digest(kirikae.simulate(SCENARIO, **ASKED, engine=Logged(address), campaign=campaign, batch=1)))


def faults(directory: pathlib.Path) -> None:
    """Asks for the sweep by a program of its own, and lets things die."""
    from ray.cluster_utils import Cluster

    campaign, log = directory / "campaign", directory / "log"
    log.touch()
    os.environ["LOG"] = str(log)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(NODES)]
    command = [sys.executable, __file__, cluster.address, str(campaign)]
    asking = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    begin = time.perf_counter()

    def kept() -> int:
        return len(list(campaign.glob("*.parquet")))

    def begun() -> list[tuple[str, ...]]:
        """Contender and seed of each batch that was begun, as often as it was."""
        lines = [line.split() for line in log.read_text().splitlines()]
        return [(contender, seed) for what, contender, seed, _ in lines if what == "begin"]

    def until(count: int) -> None:
        while kept() < count:
            assert asking.poll() is None, "it ended early"
            time.sleep(0.01)

    def tell(what: str) -> None:
        print(f"{time.perf_counter() - begin:6.1f} s: {what}; {kept()} results are kept, {len(begun())} begun")

    until(WORKER)
    # The one that has begun last.
    os.kill(int(log.read_text().splitlines()[-1].split()[-1]), signal.SIGKILL)
    tell("a worker was killed")
    until(NODE)
    cluster.remove_node(nodes.pop())
    tell("a node was removed")
    until(PROGRAM)
    asking.kill()
    asking.communicate()
    tell("the program was killed")
    # What ran on the worker, on the node and for the program, or was on its way to it.
    allowed = 2 + len(set(begun())) - kept()
    asking = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    told, _ = asking.communicate()
    assert asking.returncode == 0, "it failed"
    tell("it is done")
    cluster.shutdown()
    again = len(begun()) - len(set(begun()))
    print(f"{len(set(begun()))} batches, of which {again} were begun again; {allowed} may be")
    assert len(set(begun())) == BATCHES, "a batch was lost"
    assert again <= allowed, "a batch was begun again that was done"
    assert told.strip() == digest(kirikae.simulate(SCENARIO, **ASKED)), "other bytes than without Ray"


if __name__ == "__main__":
    if sys.argv[1:]:
        program(*sys.argv[1:])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            faults(pathlib.Path(temporary))
