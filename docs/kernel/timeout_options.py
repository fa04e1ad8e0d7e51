#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which options of the retransmission timer a sock_ops program may read and set, and what they do.

Run as root: python3 docs/kernel/timeout_options.py

For each option and callback a program of a few instructions is attached to a cgroup of its own: in
the callback it gets the option, sets it, and gets it again. A connection over the loopback of a network
namespace, made for this, writes 20 times and then loses what it sends. Everything made is removed at the
end; the kernel's other connections are not touched.
"""

import ctypes
import errno
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
NEW_NETWORK = 0x40000000
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
        # Of the two ends only the one that connects is looked at: "established" is its callback.
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


class Namespace:
    """A network namespace with nothing but loopback, in which this process is meanwhile."""

    def __enter__(self):
        self.home = os.open("/proc/self/ns/net", os.O_RDONLY)
        if LIBC.unshare(NEW_NETWORK):
            raise OSError(ctypes.get_errno(), "unshare")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        # 8 is the fewest that RFC 1122 lets an operator set: a connection is given up soon enough.
        with open("/proc/sys/net/ipv4/tcp_retries2", "w") as file:
            file.write("8")
        return self

    def __exit__(self, *_):
        LIBC.setns(self.home, NEW_NETWORK)


class Cgroup:
    """A cgroup, in which this process is meanwhile."""

    def __enter__(self):
        with open("/proc/self/mounts") as file:
            root = next(line.split()[1] for line in file if line.split()[2] == "cgroup2")
        with open("/proc/self/cgroup") as file:
            self.home = root + next(line[3:].strip() for line in file if line.startswith("0::"))
        self.path = f"{root}/kk-timeouts-{os.getpid()}"
        os.mkdir(self.path)
        self.move(self.path)
        return os.open(self.path, os.O_RDONLY)

    def __exit__(self, *_):
        self.move(self.home)
        os.rmdir(self.path)

    def move(self, to):
        with open(to + "/cgroup.procs", "w") as procs:
            procs.write(str(os.getpid()))


def drop(accepted):
    """The socket receives nothing from now on: a filter `ret #0`."""
    instruction = ctypes.create_string_buffer(struct.pack("<HBBI", 6, 0, 0, 0), 8)
    accepted.setsockopt(socket.SOL_SOCKET, 26, struct.pack("<HxxxxxxQ", 1, ctypes.addressof(instruction)))


def rto_ms(connection):
    return struct.unpack_from("<I", connection.getsockopt(SOL_TCP, 11, 104), 8)[0] / 1000


def traffic(seconds):
    """Writes, loses the path for so long, and answers the timeouts in force (milliseconds) and how
    long the connection lived without the path, if not to the end (seconds)."""
    listener = socket.create_server(("127.0.0.1", 0))
    connection = socket.create_connection(listener.getsockname())
    accepted, _ = listener.accept()
    connection.setsockopt(SOL_TCP, socket.TCP_NODELAY, 1)
    for _ in range(20):
        connection.send(b"x")
        accepted.recv(1)
        time.sleep(0.01)
    timeouts = [rto_ms(connection)]
    drop(accepted)
    connection.send(b"x")
    begin, died = time.monotonic(), None
    while time.monotonic() < begin + seconds:
        if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ETIMEDOUT:
            died = round(time.monotonic() - begin, 1)
            break
        now = rto_ms(connection)
        if now != timeouts[-1]:
            timeouts.append(now)
        time.sleep(0.01)
    for one in (connection, accepted):
        # A reset: what went on sending would call the next program, too.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.close()
    listener.close()
    return timeouts, died


def attached(directory, callback, number, value, seconds):
    """Traffic with the program attached, and what it left."""
    results = bpf(MAP_CREATE, struct.pack("<IIII", TYPE_ARRAY, 4, 24, 1))
    code = load(program(callback, number, value, results))
    link = bpf(LINK_CREATE, struct.pack("<III", code, directory, ATTACH_SOCK_OPS))
    timeouts, died = traffic(seconds)
    key, out = ctypes.create_string_buffer(4), ctypes.create_string_buffer(24)
    bpf(MAP_LOOKUP, struct.pack("<QQQ", results, ctypes.addressof(key), ctypes.addressof(out)))
    for file in (link, code, results):
        os.close(file)
    return struct.unpack("<Iiiiii", out), timeouts, died


def main():
    with Namespace(), Cgroup() as directory:
        print(os.uname().release)
        print("without a program: RTO (ms)", traffic(3)[0])
        columns = "{:26} {:12} {:>5} {:>8} {:>5} {:>5} {:>8}  {}"
        print(columns.format("option", "callback", "get", "before", "set", "get", "after", "RTO (ms)"))
        for name, (number, value) in OPTIONS.items():
            for callback in CALLBACKS:
                (count, *results), timeouts, _ = attached(directory, callback, number, value, 3)
                assert count, f"{callback} was not called"
                print(columns.format(name, callback, *results, timeouts))
        print("a dead path, tcp_retries2 = 8; seconds until the connection was given up, of 12:")
        print("  without a program", traffic(12)[1])
        print("  TCP_RTO_MAX_MS = 1000 from the beginning",
              attached(directory, "established", *OPTIONS["TCP_RTO_MAX_MS"], 12)[2])


main()
