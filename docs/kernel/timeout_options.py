#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which options of the retransmission timer a sock_ops program may read and set, and what they do.

Run as root: python3 docs/kernel/timeout_options.py

For each option and callback a program of a few instructions is attached to a cgroup of its own: in
the callback it gets the option, sets it, and gets it again. A connection between two network
namespaces, made for this, writes 20 times, loses its path for a few seconds, and gets it back.
Everything made is removed at the end; the kernel's other connections are not touched.
"""

import ctypes
import os
import socket
import struct
import subprocess
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
MAP_CREATE, MAP_LOOKUP, PROG_LOAD, LINK_CREATE = 0, 1, 5, 28
TYPE_ARRAY, TYPE_SOCK_OPS, ATTACH_SOCK_OPS = 2, 13, 3
MAP_LOOKUP_ELEM, SETSOCKOPT, GETSOCKOPT, CB_FLAGS_SET = 1, 49, 57, 59
CALLBACKS = {"established": 4, "RTO": 8, "RETRANS": 9, "RTT": 12}
FLAGS = 1 << 0 | 1 << 1 | 1 << 3  # RTO, RETRANS, RTT
SOL_TCP = 6
OPTIONS = {  # name: (number, value set)
    "TCP_BPF_RTO_MIN (us)": (1004, 50_000),
    "TCP_BPF_DELACK_MAX (us)": (1003, 40_000),
    "TCP_RTO_MAX_MS": (44, 1000),
    "TCP_RTO_MIN_US": (45, 50_000),
    "TCP_DELACK_MAX_US": (46, 40_000),
    "TCP_THIN_LINEAR_TIMEOUTS": (16, 1),
    "TCP_USER_TIMEOUT (ms)": (18, 900_000),
}


def bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes + bytes(256 - len(attributes)), 256)
    result = LIBC.syscall(SYS_BPF, command, buffer, 256)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return result


def instruction(code, dst=0, src=0, offset=0, immediate=0):
    return struct.pack("<BBhi", code, dst | src << 4, offset, immediate)


def move(dst, immediate):
    return instruction(0xB7, dst, 0, 0, immediate)


def copy(dst, src):
    return instruction(0xBF, dst, src)


def call(helper):
    return instruction(0x85, 0, 0, 0, helper)


def option(helper, number, place):
    """helper(ctx, SOL_TCP, number, fp + place, 4)"""
    return (copy(1, 6) + move(2, SOL_TCP) + move(3, number) + copy(4, 10)
            + instruction(0x07, 4, 0, 0, place) + move(5, 4) + call(helper))


def store(place):
    """Result of a helper to fp + place."""
    return instruction(0x63, 10, 0, place)


def program(callback, number, value, map_fd):
    """Leaves count, get, before, set, get, after in the map."""
    at_callback = (
        instruction(0x62, 10, 0, -4, 0)  # before
        + option(GETSOCKOPT, number, -4) + store(-8)
        + instruction(0x62, 10, 0, -12, value) + option(SETSOCKOPT, number, -12) + store(-16)
        + instruction(0x62, 10, 0, -20, 0) + option(GETSOCKOPT, number, -20) + store(-24)
        + instruction(0x62, 10, 0, -28, 0)  # key
        + instruction(0x18, 1, 1, 0, map_fd) + instruction(0)
        + copy(2, 10) + instruction(0x07, 2, 0, 0, -28) + call(MAP_LOOKUP_ELEM)
        + instruction(0x15, 0, 0, 13 + 1, 0)
        + instruction(0x61, 1, 0, 0) + instruction(0x07, 1, 0, 0, 1) + instruction(0x63, 0, 1, 0)
        # only the first time
        + instruction(0x55, 1, 0, 10 + 1, 1)
        + b"".join(instruction(0x61, 1, 10, place) + instruction(0x63, 0, 1, 4 * n)
                   for n, place in ((1, -8), (2, -4), (3, -16), (4, -24), (5, -20)))
        + instruction(0x05, 0, 0, 0)
    )
    ending = move(0, 1) + instruction(0x95)
    flags = copy(1, 6) + move(2, FLAGS) + call(CB_FLAGS_SET)
    length = len(at_callback) // 8
    return (
        copy(6, 1) + instruction(0x61, 7, 6, 0)  # op
        + instruction(0x15, 7, 0, 1, 4) + instruction(0x55, 7, 0, 3, 5)
        + flags
        # The active end is the one that writes.
        + instruction(0x55, 7, 0, length, CALLBACKS[callback]) + at_callback + ending
    )


def load(code):
    log = ctypes.create_string_buffer(65536)
    instructions = ctypes.create_string_buffer(code)
    name = ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack(
        "<IIQQIIQII", TYPE_SOCK_OPS, len(code) // 8, ctypes.addressof(instructions),
        ctypes.addressof(name), 1, len(log), ctypes.addressof(log), 0, 0)
    attributes += bytes(68 - len(attributes)) + struct.pack("<I", ATTACH_SOCK_OPS)
    try:
        return bpf(PROG_LOAD, attributes)
    except OSError:
        sys.exit(log.value.decode())


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


class Path:
    """Two network namespaces and a veth pair between them."""

    def __init__(self):
        self.names = [f"kk-timeouts-{os.getpid()}-{end}" for end in "ab"]
        a, b = self.names
        for name in self.names:
            ip("netns", "add", name)
        ip("-n", a, "link", "add", "ve", "type", "veth", "peer", "name", "ve", "netns", b)
        for name, address in ((a, "10.9.9.1"), (b, "10.9.9.2")):
            ip("-n", name, "address", "add", address + "/24", "dev", "ve")
            ip("-n", name, "link", "set", "ve", "up")

    def enter(self, end):
        with open(f"/run/netns/{self.names[end]}") as namespace:
            if LIBC.setns(namespace.fileno(), 0x40000000):
                raise OSError(ctypes.get_errno(), "setns")

    def lose(self):
        ip("-n", self.names[1], "link", "set", "ve", "down")

    def mend(self):
        ip("-n", self.names[1], "link", "set", "ve", "up")

    def remove(self):
        for name in self.names:
            ip("netns", "delete", name)


def rto_ms(connection):
    return struct.unpack_from("<I", connection.getsockopt(SOL_TCP, 11, 104), 8)[0] / 1000


def backoff(connection):
    return connection.getsockopt(SOL_TCP, 11, 104)[4]


def traffic(path, seconds):
    """Writes, loses the path for so long, and answers the timeouts in force, milliseconds."""
    path.enter(1)
    listener = socket.create_server(("10.9.9.2", 5999))
    path.enter(0)
    connection = socket.create_connection(("10.9.9.2", 5999))
    accepted, _ = listener.accept()
    connection.setsockopt(SOL_TCP, socket.TCP_NODELAY, 1)
    for _ in range(20):
        connection.send(b"x")
        accepted.recv(1)
        time.sleep(0.01)
    timeouts = [rto_ms(connection)]
    path.lose()
    connection.send(b"x")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        now = rto_ms(connection)
        if now != timeouts[-1]:
            timeouts.append(now)
        time.sleep(0.01)
    path.mend()
    accepted.settimeout(5)
    try:
        accepted.recv(1)
    except TimeoutError:
        pass
    for one in (connection, accepted, listener):
        one.close()
    return timeouts


def main():
    with open("/proc/self/mounts") as file:
        root = next(line.split()[1] for line in file if line.split()[2] == "cgroup2")
    with open("/proc/self/cgroup") as file:
        home = root + next(line[3:].strip() for line in file if line.startswith("0::"))
    cgroup = f"{root}/kk-timeouts-{os.getpid()}"
    os.mkdir(cgroup)
    path = Path()
    try:
        with open(cgroup + "/cgroup.procs", "w") as procs:
            procs.write(str(os.getpid()))
        directory = os.open(cgroup, os.O_RDONLY)
        print(os.uname().release)
        print("without a program: RTO (ms)", traffic(path, 3))
        print(f"{'option':26} {'callback':12} {'get':>5} {'before':>8} {'set':>5} {'get':>5} {'after':>8}  RTO (ms)")
        for name, (number, value) in OPTIONS.items():
            for callback in CALLBACKS:
                results = bpf(MAP_CREATE, struct.pack("<IIII", TYPE_ARRAY, 4, 24, 1))
                link = bpf(LINK_CREATE, struct.pack(
                    "<III", load(program(callback, number, value, results)), directory, ATTACH_SOCK_OPS))
                timeouts = traffic(path, 3 if callback in ("established", "RTO") else 1)
                key, out = ctypes.create_string_buffer(4), ctypes.create_string_buffer(24)
                bpf(MAP_LOOKUP, struct.pack("<QQQ", results, ctypes.addressof(key), ctypes.addressof(out)))
                count, got, before, set_, again, after = struct.unpack("<Iiiiii", out)
                print(f"{name:26} {callback:12} {got:5} {before:8} {set_:5} {again:5} {after:8}  "
                      f"{timeouts}{'' if count else ' never called'}")
                os.close(link)
                os.close(results)
    finally:
        with open(home + "/cgroup.procs", "w") as procs:
            procs.write(str(os.getpid()))
        path.remove()
        os.rmdir(cgroup)


main()
