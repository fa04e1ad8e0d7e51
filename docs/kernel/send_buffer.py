#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How much of what a program writes fits into the kernel's send buffer, and how that grows.

Run as root: python3 docs/kernel/send_buffer.py [KIRIKAE]

KIRIKAE (target/release/kirikae) emulates a path; one program writes into a connection over it as fast
as the kernel lets it, and the socket is looked at every half a millisecond: window, send buffer, what is
charged to it, and bytes written and not ACKed. A line is printed whenever the buffer has doubled.
"""

import array
import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_NETWORK = 0x40000000
SIOCOUTQ = 0x5411
SO_MEMINFO, SNDBUF, WMEM_QUEUED = 55, 3, 5
TCP_INFO, CWND = 11, 80
EVERY_S, SETTLED_S, SECONDS = 0.0005, 2, 12
INITIAL_WINDOW = 10
MOST = int(open("/proc/sys/net/ipv4/tcp_wmem").read().split()[2])
SCENARIO = """
title = "Send buffer"
seed = 1
[workload]
burst = "64 KiB"
interval = "1 s"
count = 1
[[path.forward]]
element = "rate"
rate = "{mbit} Mbit/s"
queue = "{queue} packets"
[[path.forward]]
element = "delay"
delay = "{one_way} ms"
[[path.backward]]
element = "delay"
delay = "{one_way} ms"
"""
CHUNK = bytes(1 << 20)
PATHS = {  # Mbit/s, one way in ms, packets of queue
    "10 Mbit/s, RTT 80 ms, queue 1 BDP": dict(mbit=10, one_way=40, queue=67),
    "100 Mbit/s, RTT 80 ms, queue 1 BDP": dict(mbit=100, one_way=40, queue=667),
    "20 Mbit/s, RTT 20 ms, queue 100": dict(mbit=20, one_way=10, queue=100),
}
BYTES = {"64 KiB": 64 << 10, "1 MiB": 1 << 20, "unlimited": 1 << 60}


def enter(namespace):
    with open(namespace) as file:
        if LIBC.setns(file.fileno(), NEW_NETWORK):
            raise OSError(ctypes.get_errno(), "setns")


class Path:
    """An emulated path: the names of its two namespaces and the receiver's address."""

    def __init__(self, kirikae, path):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".toml")
        self.file.write(SCENARIO.format(**path))
        self.file.flush()
        self.process = subprocess.Popen(
            [kirikae, "emulate", self.file.name], stdout=subprocess.PIPE, text=True)
        ends = [self.process.stdout.readline().split() for _ in range(2)]
        (self.sender, *_), (self.receiver, self.address, *_) = ends

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()


def connection(path, algorithm):
    """Two ends of a connection over the path, and of a program that reads whatever comes."""
    enter(f"/run/netns/{path.receiver}")
    listener = socket.create_server((path.address, 0))
    enter(f"/run/netns/{path.sender}")
    sender = socket.socket()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sender.connect(listener.getsockname())
    return sender, listener.accept()[0]


def in_child(work):
    """Runs a function in a process of its own."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


def write(sender, left):
    while left > 0:
        sender.sendall(CHUNK[: min(left, len(CHUNK))])
        left -= len(CHUNK)


def read(receiver):
    while receiver.recv(1 << 20):
        pass


def look(sender):
    """Window, segments; send buffer and what is charged to it; bytes written and not ACKed."""
    info = sender.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 104)
    memory = struct.unpack("9I", sender.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36))
    queue = array.array("i", [0])
    fcntl.ioctl(sender, SIOCOUTQ, queue)
    return struct.unpack_from("<I", info, CWND)[0], memory[SNDBUF], memory[WMEM_QUEUED], queue[0]


def watch(sender, seen):
    """Adds to `seen`, each time that something has changed, when, and what `look` tells."""
    begin = time.monotonic()
    while (now := time.monotonic() - begin) < SECONDS:
        state = look(sender)
        if state != seen[-1][1:]:
            seen.append((now, *state))
        if state[-1] == 0 and now > SETTLED_S:
            break  # a finite write is over
        time.sleep(EVERY_S)
    return seen


def report(seen):
    print("        s   window    buffer   charged  not ACKed")
    largest = shown = in_proportion = 0
    for when, window, buffer, charged, queue in seen:
        largest = max(largest, window)
        in_proportion += buffer == min(MOST, largest * seen[0][2] // INITIAL_WINDOW)
        if buffer >= 2 * shown:
            shown = buffer
            print("{:9.3f} {:8} {:9} {:9} {:10}".format(when, window, buffer, charged, queue))
    queues = sorted(queue for when, *_, queue in seen if when > SETTLED_S)
    if not queues:
        return
    print("in proportion to the largest window so far: {:.1%} of {} samples".format(
        in_proportion / len(seen), len(seen)))
    print("not ACKed after {} s: 5 % {}, mean {:.0f}, 95 % {}, {} samples".format(
        SETTLED_S, queues[len(queues) // 20], sum(queues) / len(queues),
        queues[len(queues) * 19 // 20], len(queues)), flush=True)


def main():
    kirikae = sys.argv[1] if len(sys.argv) > 1 else "target/release/kirikae"
    print(os.uname().release)
    for name, path in PATHS.items():
        for algorithm in ("cubic", "bbr"):
            for what, size in BYTES.items():
                with Path(kirikae, path) as emulated:
                    sender, receiver = connection(emulated, algorithm)
                    print(f"\n{name}, {algorithm}, {what}")
                    seen = [(0, *look(sender))]
                    children = [in_child(lambda: read(receiver)), in_child(lambda: write(sender, size))]
                    watch(sender, seen)
                    report(seen)
                    for child in children:
                        os.kill(child, signal.SIGKILL)
                        os.waitpid(child, 0)
                    for end in (sender, receiver):
                        # A reset: nothing may go on being sent.
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        end.close()


main()
