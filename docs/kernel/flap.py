#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A link that flaps, with a thousand connections over it and others beside it, while the agent runs.

Run as root: python3 docs/kernel/flap.py [DIRECTORY] [--connections N] [--seconds S] [--events N] [--json FILE]

DIRECTORY (target/release) has kirikae. Two network namespaces are made, with two pairs of veth between them. Over each,
clients send 64 bytes a second and wait for as many back. The far end of the first pair is taken down and up N/2 times a
second, so that the near end's carrier goes and comes; the server is at the near end, and the agent looks after its
connections. Told are the processor time of the agent, before and while the link flaps, which connections of the first
pair were lost, and how many segments of the second pair were sent again.

The exit status is 1 where a connection was lost or a segment of the second pair was sent again. Everything that is made
is removed at the end.
"""

import argparse
import json
import os
import pathlib
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from namespaces import inside, ip

PORT = 18088
POLICY = f"""
[[scope]]
name = "flap"
local-port = {PORT}
"""
MESSAGE = b"x" * 64
# struct tcp_info, linux/tcp.h: tcpi_total_retrans.
TOTAL_RETRANS = 8 + 4 * 23


class Network:
    """Two namespaces with two links between them."""

    def __init__(self):
        self.near, self.far = (f"kirikae-flap-{os.getpid()}-{end}" for end in ("near", "far"))

    def __enter__(self):
        for namespace in (self.near, self.far):
            ip("netns", "add", namespace)
            ip("-n", namespace, "link", "set", "lo", "up")
        for link in (1, 2):
            ip("-n", self.near, "link", "add", f"near{link}", "type", "veth",
               "peer", "name", f"far{link}", "netns", self.far)
            for namespace, end, host in ((self.near, "near", 1), (self.far, "far", 2)):
                ip("-n", namespace, "address", "add", f"10.75.{link}.{host}/24", "dev", f"{end}{link}")
                ip("-n", namespace, "link", "set", f"{end}{link}", "up")
        return self

    def __exit__(self, *_):
        for namespace in (self.near, self.far):
            subprocess.run(["ip", "netns", "delete", namespace], check=False)


class Server(threading.Thread):
    """Sends back what it gets."""

    def __init__(self, namespace):
        super().__init__(daemon=True)
        self.listener = inside(namespace, lambda: socket.create_server(("", PORT), backlog=4096))
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.connections = []

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    connection, _ = self.listener.accept()
                    self.selector.register(connection, selectors.EVENT_READ)
                    self.connections.append(connection)
                    continue
                try:
                    data = key.fileobj.recv(4096)
                    if data:
                        key.fileobj.sendall(data)
                        continue
                except OSError:
                    pass
                self.selector.unregister(key.fileobj)

    def resent(self, link):
        """Segments sent again on the connections of a link."""
        def of(connection):
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
            return struct.unpack_from("I", info, TOTAL_RETRANS)[0]
        ours = (it for it in self.connections if it.getsockname()[0] == f"10.75.{link}.1")
        return sum(of(connection) for connection in ours)


class Clients(threading.Thread):
    """Connections over a link, each of which sends once a second."""

    def __init__(self, namespace, link, number):
        super().__init__(daemon=True)
        to = (f"10.75.{link}.1", PORT)
        self.sockets = inside(namespace, lambda: [socket.create_connection(to) for _ in range(number)])
        self.going = True

    def run(self):
        for each in self.sockets:
            each.setblocking(False)
        while self.going:
            begin = time.monotonic()
            for number, each in enumerate(self.sockets):
                try:
                    each.send(MESSAGE)
                except (BlockingIOError, OSError):
                    pass
                if number % 10 == 9:
                    time.sleep(max(0, begin + number / len(self.sockets) - time.monotonic()))
                try:
                    each.recv(1 << 16)
                except (BlockingIOError, OSError):
                    pass

    def lost(self):
        """Of how many nothing comes back within half a minute."""
        self.going = False
        self.join()
        lost = 0
        for each in self.sockets:
            each.setblocking(False)
            try:
                while each.recv(1 << 16):
                    pass
            except OSError:
                pass
            try:
                each.settimeout(30)
                each.sendall(MESSAGE)
                lost += not each.recv(1 << 16)
            except OSError:
                lost += 1
        return lost


def processor_s(process):
    """The processor time that a process has taken, seconds."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share(process, seconds, meanwhile):
    """The share of a processor that a process takes while something is done."""
    before, begin = processor_s(process), time.monotonic()
    meanwhile(begin + seconds)
    return (processor_s(process) - before) / (time.monotonic() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?", default="target/release")
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--events", type=int, default=10, help="a second")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()

    with Network() as network, tempfile.TemporaryDirectory() as directory:
        policy = pathlib.Path(directory) / "policy.toml"
        policy.write_text(POLICY, encoding="ascii")
        command = [f"{arguments.directory}/kirikae", "run", "--config", str(policy)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as agent:
            try:
                time.sleep(3)
                server = Server(network.near)
                server.start()
                flapping = Clients(network.far, 1, arguments.connections)
                beside = Clients(network.far, 2, 100)
                for clients in (flapping, beside):
                    clients.start()
                time.sleep(5)

                def flap(until):
                    while time.monotonic() < until:
                        for state in ("down", "up"):
                            begin = time.monotonic()
                            ip("-n", network.far, "link", "set", "far1", state)
                            time.sleep(max(0, begin + 1 / arguments.events - time.monotonic()))

                quiet = share(agent.pid, 10, lambda until: time.sleep(until - time.monotonic()))
                before = server.resent(2)
                busy = share(agent.pid, arguments.seconds, flap)
                resent = server.resent(2) - before
                told = subprocess.run([command[0], "status", "--json"], check=True, capture_output=True)
                result = {
                    "connections": arguments.connections,
                    "events_per_s": arguments.events,
                    "seconds": arguments.seconds,
                    "share_quiet": quiet,
                    "share_flapping": busy,
                    "revived": json.loads(told.stdout)["revived"],
                    "lost": flapping.lost(),
                    "beside_lost": beside.lost(),
                    "beside_resent": resent,
                }
            finally:
                agent.send_signal(signal.SIGINT)
    for name, value in result.items():
        print(f"{name:14} {value:.4f}" if isinstance(value, float) else f"{name:14} {value}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(result), encoding="ascii")
    return int(any(result[name] for name in ("lost", "beside_lost", "beside_resent")))


if __name__ == "__main__":
    sys.exit(main())
