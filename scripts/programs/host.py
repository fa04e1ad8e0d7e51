"""Both ends of an emulated path, and the programs that run there."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
RATE_MBIT = 20

# What is written in it is not: programs write.
SCENARIO = """
title = "Programs"
seed = {seed}
[workload]
burst = "1 kB"
interval = "1 s"
count = 1
[[path.forward]]
element = "loss"
probability = {loss}
[[path.forward]]
element = "rate"
rate = "{rate} Mbit/s"
queue = "{queue} packets"
[[path.forward]]
element = "delay"
delay = "{delay} ms"
[[path.backward]]
element = "delay"
delay = "{delay} ms"
"""


def scenario(rtt_ms, loss, seed):
    """A path with a queue of a bandwidth-delay product."""
    queue = max(20, int(RATE_MBIT * 1e3 * rtt_ms / 8 / 1500))
    return SCENARIO.format(seed=seed, loss=loss, rate=RATE_MBIT, queue=queue, delay=rtt_ms / 2)


class Host:
    """A server and a client with a path between them. What the server sends is carried by stock bbr
    where that is the contender, and else begins with stock cubic; Kirikae's servers are in
    `cgroup`."""

    def __init__(self, lab, path, contender, cgroup):
        self.contender = contender
        self.cgroup = cgroup
        self.running = []
        self.namespaces = []
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="kirikae-programs-"))
        file = self.directory / "path.toml"
        file.write_text(path)
        self.emulator = subprocess.Popen(
            [lab, "emulate", file], stdout=subprocess.PIPE, text=True
        )

    def begin(self):
        """Waits until packets pass."""
        ends = [self.emulator.stdout.readline().split() for _ in range(2)]
        if not all(len(end) == 2 for end in ends):
            sys.exit("error: kirikae-lab emulate did not begin; see above")
        self.namespaces = [end[0] for end in ends]
        self.server_address, self.client_address = (end[1] for end in ends)
        algorithm = "bbr" if self.contender == "bbr" else "cubic"
        # A namespace may not have every algorithm as its default, but a route may name any.
        ip = ["ip", "-n", self.namespaces[0], "route"]
        for route in subprocess.check_output(ip, text=True).splitlines():
            subprocess.run([*ip, "change", *route.split(), "congctl", algorithm], check=True)

    def start(self, program, role, *arguments, **options):
        """Runs our part of a program: to `serve` at the server, or to `watch` at the client."""
        serves = role == "serve"

        def join():
            if serves and self.contender == "kirikae":
                (self.cgroup / "cgroup.procs").write_text("0")

        namespace = self.namespaces[0 if serves else 1]
        command = [sys.executable, HERE / f"{program}.py", role, self.directory, *arguments]
        command = ["ip", "netns", "exec", namespace, *map(str, command)]
        self.running.append(subprocess.Popen(command, preexec_fn=join, **options))

    def signal_all(self, number):
        """Whatever was started, by whom and in what session ever."""
        for namespace in self.namespaces:
            pids = subprocess.check_output(["ip", "netns", "pids", namespace], text=True)
            for pid in map(int, pids.split()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    def end(self):
        # X servers take away their locks.
        self.signal_all(signal.SIGTERM)
        time.sleep(1)
        self.signal_all(signal.SIGKILL)
        for process in self.running:
            process.wait()
        self.emulator.send_signal(signal.SIGINT)
        self.emulator.wait()
        shutil.rmtree(self.directory)
