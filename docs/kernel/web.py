#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the clients of a web server wait for, each answer on a connection of its own.

Run as root: python3 docs/kernel/web.py [DIRECTORY] [--json FILE] [--log FILE] [--path TEXT] [--at-most N]

DIRECTORY (target/release) has kirikae and kirikae-lab. nginx, without keep-alive, answers curl over emulated
paths; it is at the end where the rate and the queue are. Measured are one object (`time_total` of curl,
which begins before the SYN), and a page: 30 objects, at most six at a time (the whole run of curl).

The contenders are stock cubic, stock bbr, kirikae with three values of `warm-start`, and stock cubic with an
initial window of 50 segments, set by hand. Each has a path of its own with the same seed. The stock ones are
measured one after the other, and beside them those of kirikae, so that two paths are up at any time. One
agent runs throughout, on the host; its scopes are by the server's port, and none is of a stock contender's.

The algorithm of a contender is that of the server's route, since a network namespace may have only those as
its default that everyone may use. The kernel's own metrics of destinations are off (tcp_no_metrics_save).

--json writes all times into a file, --log what the agent says of each switch. --path measures those paths alone
whose title has the text, --at-most fewer times, to try it. The exit status is 1 where an answer was not whole.
"""

import argparse
import asyncio
import contextlib
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT

# How long is waited for things that take moments.
STARTS_S, ENDS_S, ANSWER_S = 30, 30, 60
# linux/socket.h, asm-generic: of 5.14 and later
SO_NETNS_COOKIE = 71
PAUSE_S = 0.05
SCENARIO = """
title = "Web"
seed = 1
[workload]
burst = "64 KiB"
interval = "1 s"
count = 1
{loss}
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
LOSS = """
[[path.forward]]
element = "loss"
probability = 0.01
"""
PATHS = {  # Mbit/s, one way in ms, packets of queue, losses
    "RTT 200 ms, 10 Mbit/s, queue 100": dict(mbit=10, one_way=100, queue=100, loss=""),
    "RTT 200 ms, 10 Mbit/s, queue 100, 1 % loss": dict(mbit=10, one_way=100, queue=100, loss=LOSS),
    "RTT 50 ms, 10 Mbit/s, queue 100": dict(mbit=10, one_way=25, queue=100, loss=""),
    "RTT 100 ms, 50 Mbit/s, queue 500": dict(mbit=50, one_way=50, queue=500, loss=""),
    "RTT 200 ms, 20 Mbit/s, queue 500": dict(mbit=20, one_way=100, queue=500, loss=""),
}
LARGER_ON = "RTT 200 ms, 20 Mbit/s, queue 500"
BASELINE = "cubic"
STOCK = {  # what the server's route says, and its port
    BASELINE: ("congctl cubic", 18081),
    "bbr": ("congctl bbr", 18082),
    "initcwnd 50": ("congctl cubic initcwnd 50", 18083),
}
KIRIKAE = {
    "kirikae, none": ("congctl cubic", 18084),
    "kirikae, careful": ("congctl cubic", 18085),
    "kirikae, first-flight": ("congctl cubic", 18086),
}
POLICY = """
[[scope]]
name = "none"
local-port = 18084
warm-start = "none"
path-lifetime = "0 s"
[[scope]]
name = "careful"
local-port = 18085
warm-start = "careful"
[[scope]]
name = "first-flight"
local-port = 18086
warm-start = "first-flight"
"""
# Objects of a page in kB, in the order in which they are asked for; together 1000.
PAGE = [30, 12, 3, 85, 5, 18, 120, 8, 2, 45, 25, 7, 65, 14, 4, 95, 10, 35, 3, 60, 23, 6, 110, 16, 2, 50, 28,
        9, 70, 40]
PARALLEL = 6
NGINX = """
daemon off;
master_process off;
pid {directory}/{port}.pid;
error_log {directory}/{port}.log;
events {{}}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 0;
    client_body_temp_path {directory}/{port}-body;
    proxy_temp_path {directory}/{port}-proxy;
    fastcgi_temp_path {directory}/{port}-fastcgi;
    uwsgi_temp_path {directory}/{port}-uwsgi;
    scgi_temp_path {directory}/{port}-scgi;
    server {{ listen {address}:{port}; root {directory}/objects; }}
}}
"""


async def start(*command, **keys):
    """Starts a program that Ctrl-C does not reach: what it is told, it is told by this one."""
    return await asyncio.create_subprocess_exec(
        *command, stdin=DEVNULL, start_new_session=True, **keys)


async def end(process, how):
    """Asks a program to end, and makes it where it does not; answers what it still had to say."""
    if process.returncode is None:
        process.send_signal(how)
    try:
        return (await asyncio.wait_for(process.communicate(), ENDS_S))[0]
    except asyncio.TimeoutError:
        process.kill()
        return (await process.communicate())[0]


async def output(*command, **keys):
    """What a program prints, and whether it succeeded in time."""
    process = await start(*command, stdout=PIPE, **keys)
    try:
        text, _ = await asyncio.wait_for(process.communicate(), ANSWER_S)
        return text.decode(), process.returncode == 0
    except asyncio.TimeoutError:
        return "", False
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def check(*command):
    text, succeeded = await output(*command)
    if not succeeded:
        raise RuntimeError(f"{' '.join(command)} failed: {text}")
    return text


def within(namespace, *command):
    return "nsenter", f"--net=/run/netns/{namespace}", *command


class Path:
    """An emulated path: the server's namespace and address, and the client's namespace."""

    def __init__(self, process, ends):
        self.process = process
        (self.server, self.address), (self.client, _) = (end.split()[:2] for end in ends)
        self.said = []

    async def prepare(self, route):
        for namespace in self.server, self.client:
            await check(*within(namespace, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1"))
        before = (await check("ip", "-n", self.server, "route", "show", "dev", "kirikae0")).splitlines()
        await check("ip", "-n", self.server, "route", "change", *before[0].split(), "dev", "kirikae0",
                    *route.split())


@contextlib.asynccontextmanager
async def emulated(binaries, path, route):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(SCENARIO.format(**path))
        file.flush()
        process = await start(f"{binaries}/kirikae-lab", "emulate", file.name, stdout=PIPE)
        try:
            async with asyncio.timeout(STARTS_S):
                ends = [(await process.stdout.readline()).decode() for _ in range(2)]
            result = Path(process, ends)
            await result.prepare(route)
            yield result
        finally:
            said = await end(process, signal.SIGINT)
        result.said = said.decode().splitlines()


@contextlib.asynccontextmanager
async def nginx(directory, path, port):
    """nginx in the server's namespace, once it answers."""
    file = f"{directory}/{port}.conf"
    with open(file, "w") as config:
        config.write(NGINX.format(directory=directory, address=path.address, port=port))
    process = await start(*within(path.server, "nginx", "-c", file), stdout=PIPE, stderr=STDOUT)
    try:
        deadline = time.monotonic() + STARTS_S
        answers = False
        while not answers:
            if time.monotonic() > deadline or process.returncode is not None:
                raise RuntimeError("nginx does not answer")
            await asyncio.sleep(0.05)
            url = f"http://{path.address}:{port}/2"
            _, answers = await output(
                *within(path.server, "curl", "-s", "-m", "1", "-o", "/dev/null", url))
        yield
    finally:
        await end(process, signal.SIGTERM)


@contextlib.asynccontextmanager
async def agent(kirikae, directory, log):
    """The agent, once it switches. What it knows of paths it keeps in a directory of this measurement."""
    policy = f"{directory}/policy.toml"
    with open(policy, "w") as file:
        file.write(POLICY)
    environment = os.environ | {"STATE_DIRECTORY": f"{directory}/state"}
    process = await start(kirikae, "run", "--config", policy, "--json", env=environment, stdout=log,
                          stderr=PIPE)
    try:
        async with asyncio.timeout(STARTS_S):
            while b"switching" not in (line := await process.stderr.readline()):
                if not line:
                    raise RuntimeError("the agent ended")
                print(line.decode().rstrip(), file=sys.stderr)
        yield
    finally:
        await end(process, signal.SIGINT)
        if process.returncode != 0:
            await output(kirikae, "undo", stderr=DEVNULL)


async def object_time(path, port, kilobytes):
    """Seconds until an object is there, None where it did not come as a whole."""
    text, succeeded = await output(*within(
        path.client, "curl", "-s", "-m", str(ANSWER_S / 2), "-o", "/dev/null", "-H", "Connection: close",
        "-w", "%{http_code} %{size_download} %{time_total}", f"http://{path.address}:{port}/{kilobytes}"))
    if not succeeded or text.split()[:2] != ["200", str(1000 * kilobytes)]:
        return None
    return float(text.split()[2])


async def page_time(path, port, file):
    """Seconds until all objects of the page are there, None where one did not come as a whole."""
    begin = time.monotonic()
    # Without --parallel-immediate curl waits to see whether connections can be shared. With --parallel it
    # tells its progress in spite of -s.
    text, succeeded = await output(*within(
        path.client, "curl", "-s", "-m", str(ANSWER_S / 2), "--http1.1", "--parallel",
        "--parallel-max", str(PARALLEL), "--parallel-immediate", "-H", "Connection: close",
        "-w", "%{http_code} %{size_download} %{num_connects}\\n", "-K", file), stderr=DEVNULL)
    took = time.monotonic() - begin
    if not succeeded or sorted(text.splitlines()) != sorted(f"200 {1000 * size} 1" for size in PAGE):
        return None
    return took


def page_of(directory, path, port):
    """A file that tells curl what to fetch."""
    file = f"{directory}/{port}.curl"
    with open(file, "w") as config:
        for size in PAGE:
            config.write(f'url = "http://{path.address}:{port}/{size}"\noutput = "/dev/null"\n')
    return file


async def repeated(measure, count, warmup):
    """Times of `count` measurements after some that do not count."""
    times = []
    for _ in range(warmup + count):
        times.append(await measure())
        await asyncio.sleep(PAUSE_S)
    return times[warmup:]


async def memory(kirikae, path):
    """What the agent knows of the path from the server, and how often its memory was used so far."""
    text, succeeded = await output(kirikae, "paths", "--json")
    if not succeeded:
        return {}, {}
    told = json.loads(text)
    ask = f"import socket; print(socket.socket().getsockopt(socket.SOL_SOCKET, {SO_NETNS_COOKIE}, 8).hex())"
    cookie, _ = await output("ip", "netns", "exec", path.server, "python3", "-c", ask)
    namespace = int.from_bytes(bytes.fromhex(cookie.strip())[:4], "little")
    own = [it for it in told["paths"] if it.get("namespace") == namespace]
    counts = {name: value for name, value in told.items() if isinstance(value, int)}
    return counts, own


async def contend(options, directory, title, contender, of_kirikae):
    """Measures one contender over one path: a record for each thing that is measured."""
    route, port = (STOCK | KIRIKAE)[contender]
    kirikae = f"{options.directory}/kirikae"
    wanted = [("60 kB", 60, 40, 4), ("page", None, 10, 2)]
    if title == LARGER_ON:
        wanted.insert(1, ("256 kB", 256, 20, 4))
    records = []
    async with emulated(options.directory, PATHS[title], route) as path, nginx(directory, path, port):
        file = page_of(directory, path, port)
        if of_kirikae:
            # The kernel gives the number of a namespace that is gone to the next, and with it what is known.
            await output(kirikae, "paths", "forget", "0.0.0.0/0", stderr=DEVNULL)
        for what, size, count, warmup in wanted:
            def measure():
                return object_time(path, port, size) if size else page_time(path, port, file)
            before, _ = await memory(kirikae, path)
            times = await repeated(measure, min(count, options.at_most), warmup)
            record = dict(path=title, what=what, contender=contender, times=times)
            if of_kirikae:
                after, own = await memory(kirikae, path)
                record["memory"] = {name: after[name] - before.get(name, 0) for name in after}
                record["known"] = own
            records.append(record)
            whole = [it for it in times if it is not None]
            print(f"{title}, {what}, {contender}: mean {statistics.mean(whole or [0]):.3f} s, "
                  f"n = {len(whole)} of {len(times)}", file=sys.stderr, flush=True)
    for record in records:
        record["said"] = path.said
    return records


async def lane(options, directory, contenders, of_kirikae):
    """Measures some contenders over all paths, one after the other."""
    records = []
    for title in PATHS:
        if options.path in title:
            for contender in contenders:
                records += await contend(options, directory, title, contender, of_kirikae)
    return records


def student(freedom):
    """The quantile 0.975 of Student's distribution (Abramowitz and Stegun, 26.7.5)."""
    z = statistics.NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def mean_and_half(times):
    """A mean, and half of its interval of 95 %."""
    if len(times) < 2:
        return statistics.mean(times or [math.nan]), math.nan
    half = student(len(times) - 1) * statistics.stdev(times) / math.sqrt(len(times))
    return statistics.mean(times), half


def report(records):
    """Prints a table for each path and thing measured; the ratio's interval is by the delta method."""
    row = "  {:22} {:>4} {:>8} {:>8} {:>8} {:>8} {:>8} {:>16} {:>7}"
    for title in PATHS:
        for what in "60 kB", "256 kB", "page":
            own = {it["contender"]: it for it in records if it["path"] == title and it["what"] == what}
            if not own:
                continue
            print(f"\n{title}: {what}")
            print(row.format("", "n", "mean s", "+-95 %", "median", "longest", "ratio", "95 %", "failed"))
            whole = {name: [it for it in record["times"] if it is not None] for name, record in own.items()}
            stock, stock_half = mean_and_half(whole[BASELINE])
            for name in [BASELINE, "bbr", *KIRIKAE, "initcwnd 50"]:
                times = whole[name]
                mean, half = mean_and_half(times)
                ratio = mean / stock
                around = ratio * math.hypot(half / mean, stock_half / stock)
                print(row.format(
                    name, len(times), f"{mean:.3f}", f"{half:.3f}",
                    f"{statistics.median(times or [math.nan]):.3f}", f"{max(times, default=math.nan):.3f}",
                    f"{ratio:.3f}", f"{ratio - around:.3f} to {ratio + around:.3f}" if name != BASELINE else "",
                    len(own[name]["times"]) - len(times)))


async def measure_all(options):
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="kirikae-web-"))
        # nginx reads the objects as another user.
        os.chmod(directory, 0o755)
        os.mkdir(f"{directory}/objects")
        for size in {*PAGE, 60, 256}:
            with open(f"{directory}/objects/{size}", "wb") as file:
                file.write(os.urandom(1000 * size))
        log = stack.enter_context(open(options.log, "w")) if options.log else DEVNULL
        async with agent(f"{options.directory}/kirikae", directory, log):
            async with asyncio.TaskGroup() as group:
                lanes = [group.create_task(lane(options, directory, STOCK, False)),
                         group.create_task(lane(options, directory, KIRIKAE, True))]
    return [record for one in lanes for record in one.result()]


async def until_told(options):
    """Measures; SIGTERM is as Ctrl-C, and everything that was started ends with either."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
    return await measure_all(options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", default="target/release")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--log", metavar="FILE")
    parser.add_argument("--path", metavar="TEXT", default="")
    parser.add_argument("--at-most", metavar="N", type=int, default=sys.maxsize)
    options = parser.parse_args()
    try:
        records = asyncio.run(until_told(options))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit("interrupted; everything that was started has ended")
    nginx_version = subprocess.run(["nginx", "-v"], stderr=subprocess.PIPE, text=True).stderr.strip()
    print(os.uname().release, nginx_version, sep=", ")
    report(records)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(records, file, indent=1)
    sys.exit(any(None in record["times"] for record in records))


main()
