#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An MPTCP connection over two paths, each of whose subflows the agent looks after as any connection.

Run as root: python3 docs/kernel/mptcp.py [DIRECTORY] [--bursts N] [--turns N] [--json FILE]

DIRECTORY (target/release) has kirikae and kirikae-lab. `kirikae-lab emulate` emulates two paths of 10 Mbit/s, whose
round trips are 60 and 200 ms and which lose one packet in a hundred. A host sends 64 KiB a second to another over one
MPTCP connection (RFC 8684), with a subflow on each path by the kernel's own path manager and scheduler, in turns with
stock cubic and with the agent. Told are how long bursts took from their first byte until
the last had arrived, over how many subflows they went, and which algorithms the agent gave these.

The exit status is 1 where a connection had fewer than two subflows, or the agent did not switch each of them.
Everything that is made is removed at the end.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from namespaces import inside, ip

IPPROTO_MPTCP = 262
PORT = 18091
SERVER = "10.76.1.2"
BURST = 64 << 10
PATHS_MS = (60, 200)
PATH = """
title = "RTT {rtt} ms"
seed = {rtt}
[workload]
burst = "64 KiB"
interval = "1 s"
count = 1
[[path.forward]]
element = "loss"
probability = 0.01
[[path.forward]]
element = "rate"
rate = "10 Mbit/s"
queue = "100 packets"
[[path.forward]]
element = "delay"
delay = "{one_way} ms"
[[path.backward]]
element = "delay"
delay = "{one_way} ms"
"""
POLICY = f"""
[[scope]]
name = "mptcp"
remote = ["10.76.0.0/16"]
"""


@contextlib.contextmanager
def program(*command):
    """Runs a program that Ctrl-C does not reach, and interrupts it in the end."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


class Network:
    """Two hosts with two emulated paths between them: a VXLAN tunnel goes over each, whose ends are at the hosts."""

    def __init__(self, lab, directory):
        self.stack = contextlib.ExitStack()
        self.lab, self.directory = lab, directory
        self.near, self.far = (f"kirikae-mptcp-{os.getpid()}-{end}" for end in ("near", "far"))

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            for host in (self.near, self.far):
                ip("netns", "add", host)
                stack.callback(subprocess.run, ["ip", "netns", "delete", host], check=False)
                ip("-n", host, "link", "set", "lo", "up")
                ip("-n", host, "mptcp", "limits", "set", "subflows", "1", "add_addr_accepted", "1")
            for number, rtt in enumerate(PATHS_MS, 1):
                path = f"path{number}"
                ends = self._emulate(stack, rtt)
                for host, (end, local), (_, remote), address in zip((self.near, self.far), ends, ends[::-1], (1, 2)):
                    ip("-n", end, "link", "add", path, "type", "vxlan", "id", "1", "dstport", "4789",
                       "local", local, "remote", remote)
                    ip("-n", end, "link", "set", path, "netns", host)
                    ip("-n", host, "address", "add", f"10.76.{number}.{address}/24", "dev", path)
                    ip("-n", host, "link", "set", path, "up")
                    # Where a program chooses the algorithm itself, the agent leaves its connections alone.
                    ip("-n", host, "route", "change", f"10.76.{number}.0/24", "dev", path,
                       "src", f"10.76.{number}.{address}", "congctl", "cubic")
            ip("-n", self.far, "mptcp", "endpoint", "add", "10.76.2.2", "dev", "path2", "signal")
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def _emulate(self, stack, rtt):
        """The namespaces and addresses of the two ends of a path."""
        file = pathlib.Path(self.directory) / f"{rtt}.toml"
        file.write_text(PATH.format(rtt=rtt, one_way=rtt // 2), encoding="ascii")
        emulated = stack.enter_context(program(self.lab, "emulate", str(file)))
        return [emulated.stdout.readline().split() for _ in range(2)]


def reads(connection, until, arrived):
    """Notes when each of so many bytes had arrived."""
    got = 0
    for limit in until:
        while got < limit:
            data = connection.recv(1 << 20)
            if not data:
                return
            got += len(data)
        arrived.append(time.monotonic())


def latencies(network, bursts):
    """How long each burst took, seconds, and over how many subflows they went."""
    def listen():
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", PORT))
        listener.listen()
        return listener

    def connect():
        client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)
        client.connect((SERVER, PORT))
        return client

    with inside(network.far, listen) as listener, inside(network.near, connect) as client:
        connection, _ = listener.accept()
        with connection:
            limits = range(BURST, (bursts + 1) * BURST, BURST)
            arrived, begun = [], []
            reader = threading.Thread(target=reads, args=(connection, limits, arrived))
            reader.start()
            # The second subflow is established once the first has exchanged data.
            start = time.monotonic()
            for number in range(bursts):
                time.sleep(max(0, start + number - time.monotonic()))
                begun.append(time.monotonic())
                client.sendall(bytes(BURST))
            reader.join(timeout=60)
            told = subprocess.run(["ip", "netns", "exec", network.near, "ss", "-Htn", "state", "established", "dport", "=", str(PORT)],
                                  check=True, capture_output=True, text=True).stdout
            return [end - begin for begin, end in zip(begun, arrived)], len(told.splitlines())


def quantile(values, share):
    """A quantile of some values."""
    return statistics.quantiles(values, n=1000, method="inclusive")[round(share * 1000) - 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?", default="target/release")
    parser.add_argument("--bursts", type=int, default=60)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    kirikae, lab = (os.path.join(arguments.directory, name) for name in ("kirikae", "kirikae-lab"))

    taken = {"cubic": [], "kirikae": []}
    subflows = {"cubic": [], "kirikae": []}
    given = []
    with tempfile.TemporaryDirectory() as directory, Network(lab, directory) as network:
        policy = pathlib.Path(directory) / "policy.toml"
        policy.write_text(POLICY, encoding="ascii")
        for _ in range(arguments.turns):
            for contender in taken:
                agent = program(kirikae, "run", "--json", "--config", str(policy))
                with agent if contender == "kirikae" else contextlib.nullcontext() as running:
                    if running:
                        # What it says is read in the end, and fits a pipe.
                        time.sleep(3)
                    took, number = latencies(network, arguments.bursts)
                    if running:
                        running.send_signal(signal.SIGINT)
                        said = running.stdout.read().splitlines()
                        switches = [json.loads(line) for line in said if line.startswith("{")]
                        given.append({it["local"]: it["to"] for it in switches if "to" in it})
                # The first bursts were slow start's, and the second subflow's.
                taken[contender] += took[5:]
                subflows[contender].append(number)
    result = {
        name: {
            "bursts": len(took),
            "mean_s": statistics.fmean(took),
            "p50_s": quantile(took, 0.5),
            "p95_s": quantile(took, 0.95),
            "subflows": subflows[name],
        }
        for name, took in taken.items()
    }
    result["given"] = given
    for name in taken:
        one = result[name]
        print(f"{name:8} n {one['bursts']}, mean {one['mean_s']:.3f} s, p50 {one['p50_s']:.3f} s,"
              f" p95 {one['p95_s']:.3f} s, subflows {one['subflows']}")
    for number, turn in enumerate(given, 1):
        print(f"turn {number}: " + ", ".join(f"{local} got {to}" for local, to in turn.items()))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(result), encoding="ascii")
    return int(min(sum(subflows.values(), [])) < 2 or any(len(turn) < 2 for turn in given))


if __name__ == "__main__":
    sys.exit(main())
