#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The agent is killed again and again while new connections begin with what is known of their path.

Run as root: python3 docs/kernel/kills.py [DIRECTORY] [--seed N] [--kills N] [--json FILE]

DIRECTORY (target/release) has kirikae and kirikae-lab. 200 new connections a second fetch 20 kB each over an
emulated path (RTT 20 ms, 100 Mbit/s, queue 500 packets), whether those before have ended or not. First there is no
agent for 20 s, to show what the machine itself does. Then there is one, in the server's network namespace, with
`warm-start = "first-flight"`; it is killed (SIGKILL) 0.3 to 2 s after it was started, also while it starts, and
another is started, which cleans up. Every fifth has been told to end (SIGTERM) up to 0.15 s before, and is killed
while it restores connections and saves what it knows.

Each byte of each answer is compared. Everything is written below a temporary directory. The exit status is 1 where
anything was lost: a byte, a connection, what is known of paths, or an agent that ended by itself.
"""

import argparse
import asyncio
import contextlib
import ctypes
import hashlib
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_NETWORK = 0x40000000
SCENARIO = """
title = "Kills"
seed = 1
[workload]
burst = "64 KiB"
interval = "1 s"
count = 1
[[path.forward]]
element = "rate"
rate = "100 Mbit/s"
queue = "500 packets"
[[path.forward]]
element = "delay"
delay = "10 ms"
[[path.backward]]
element = "delay"
delay = "10 ms"
"""
PORT = 18087
POLICY = f"""
[[scope]]
name = "kills"
local-port = {PORT}
warm-start = "first-flight"
"""
RATE, SIZE = 200, 20_000
EARLIEST_S, LATEST_S, ENDING_EVERY, ENDING_S = 0.3, 2, 5, 0.15
WITHOUT_S, LEARN_S, AFTER_S = 20, 3, 3
# How long is waited for things that take moments, and for an answer.
MOMENT_S, ANSWER_S = 30, 20
# A transfer takes three round trips where nothing is known; one that waits for the kernel's timeout takes longer
# than this.
STALL_S = 0.25


def enter(namespace):
    with open(f"/run/netns/{namespace}") as file:
        if LIBC.setns(file.fileno(), NEW_NETWORK):
            raise OSError(ctypes.get_errno(), "setns")


def end(process, how):
    """Asks a program to end, and makes it where it does not."""
    if process.poll() is None:
        process.send_signal(how)
    try:
        process.wait(MOMENT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def said_by(*command):
    """What a program prints, None where it failed or took too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOMENT_S)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None


@contextlib.contextmanager
def emulated(lab, directory):
    """The server's namespace and address, and the client's namespace."""
    scenario = f"{directory}/path.toml"
    with open(scenario, "w") as file:
        file.write(SCENARIO)
    process = subprocess.Popen([lab, "emulate", scenario], stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        signal.alarm(MOMENT_S)
        (server, address), (client, _) = (process.stdout.readline().split()[:2] for _ in range(2))
        signal.alarm(0)
        route = said_by("ip", "-n", server, "route", "show", "dev", "kirikae0").splitlines()[0].split()
        subprocess.run(["ip", "-n", server, "route", "change", *route, "dev", "kirikae0", "congctl", "cubic"],
                       check=True)
        for namespace in server, client:
            subprocess.run(["nsenter", f"--net=/run/netns/{namespace}", "sysctl", "-qw",
                            "net.ipv4.tcp_no_metrics_save=1"], check=True)
        yield server, address, client
    finally:
        end(process, signal.SIGINT)


@contextlib.contextmanager
def child(work, namespace):
    """A process of its own in a namespace, which ends when the pipe does that it is given."""
    ours, theirs = socket.socketpair()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            # What this one is told, it is told by the pipe.
            os.setsid()
            ours.close()
            for number in signal.SIGINT, signal.SIGTERM, signal.SIGALRM:
                signal.signal(number, signal.SIG_DFL)
            enter(namespace)
            asyncio.run(work(theirs))
            status = 0
        finally:
            os._exit(status)
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        deadline = time.monotonic() + MOMENT_S + ANSWER_S
        while os.waitpid(process, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(process, signal.SIGKILL)
            time.sleep(0.02)


def answer(number):
    return hashlib.shake_128(number).digest(SIZE)


async def until_closed(pipe):
    pipe.setblocking(False)
    await asyncio.get_running_loop().sock_recv(pipe, 1)


async def serve(address, pipe):
    """Answers requests of eight bytes until the pipe is closed."""
    async def serve_one(reader, writer):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            writer.write(answer(await reader.readexactly(8)))
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    async with await asyncio.start_server(serve_one, address, PORT, backlog=1000):
        pipe.send(b"r")
        await until_closed(pipe)


async def fetch(number, address, results):
    """Fetches one answer, and adds when it began, how long it took, and what went wrong."""
    begin = time.monotonic()
    wrong = None
    writer = None
    try:
        async with asyncio.timeout(ANSWER_S):
            reader, writer = await asyncio.open_connection(address, PORT)
            request = number.to_bytes(8, "big")
            writer.write(request)
            arrived = await reader.read(-1)
        if arrived != answer(request):
            wrong = f"{len(arrived)} bytes of {SIZE} arrived, not those that were sent"
    except (OSError, asyncio.TimeoutError) as error:
        wrong = repr(error)
    results.append((begin, time.monotonic() - begin, wrong))
    if writer:
        writer.close()


async def load(address, file, pipe):
    """Makes connections until the pipe is closed; writes how each went, and how late this program was."""
    results, tasks, latest, number = [], set(), 0, 0
    closed = asyncio.create_task(until_closed(pipe))
    begin = time.monotonic()
    while not closed.done():
        late = time.monotonic() - (begin + number / RATE)
        latest = max(latest, late)
        await asyncio.sleep(max(0, -late))
        task = asyncio.create_task(fetch(number, address, results))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        number += 1
    await asyncio.gather(*tasks)
    with open(file, "w") as out:
        json.dump(dict(made=number, results=results, latest_s=latest), out)


class Agents:
    """One agent after the other, in the server's namespace; what each says is kept."""

    def __init__(self, kirikae, directory, namespace):
        self.command = ["nsenter", f"--net=/run/netns/{namespace}", kirikae, "run", "--config",
                        f"{directory}/policy.toml"]
        self.kirikae = kirikae
        self.said = f"{directory}/said"
        os.mkdir(self.said)
        self.state = f"{directory}/state"
        self.environment = os.environ | {"STATE_DIRECTORY": self.state}
        with open(f"{directory}/policy.toml", "w") as file:
            file.write(POLICY)
        self.number = 0
        self.process = None

    def start(self):
        self.number += 1
        with open(self.file(), "w") as said:
            self.process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=said, start_new_session=True)

    def file(self):
        return f"{self.said}/{self.number:04}"

    def text(self):
        with open(self.file()) as file:
            return file.read()

    def is_ready(self):
        return "switching" in self.text()

    def wait(self):
        """Waits until it switches."""
        deadline = time.monotonic() + MOMENT_S
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the agent does not start: {self.text()}")
            time.sleep(0.02)

    def all_said(self):
        for number in range(1, self.number + 1):
            with open(f"{self.said}/{number:04}") as file:
                yield file.read()

    def stop(self):
        """Ends what runs; what a killed one left is undone."""
        if self.process:
            end(self.process, signal.SIGINT)
            said_by(self.kirikae, "undo")


def is_saved(agents):
    """Whether the file has the path: its line is between the version and the checksum."""
    with open(f"{agents.state}/paths") as file:
        lines = file.read().splitlines()
    return len(lines) == 3 and lines[0].startswith("kirikae paths") and lines[2].startswith("checksum")


def kill_all(agents, kills, seed, counts, losses):
    """Kills one agent after the other, and leaves one running."""
    chance = random.Random(seed)
    for number in range(kills):
        time.sleep(chance.uniform(EARLIEST_S, LATEST_S))
        if agents.process.poll() is not None:
            losses.append(f"agent {agents.number} ended by itself: {agents.text()}")
        counts["while it starts"] += not agents.is_ready()
        if number % ENDING_EVERY == ENDING_EVERY - 1:
            agents.process.terminate()
            time.sleep(chance.uniform(0, ENDING_S))
            counts["while it ends"] += agents.process.poll() is None
            counts["had ended before"] += agents.process.poll() is not None
        agents.process.kill()
        agents.process.wait()
        counts["kills"] += 1
        counts["the file had the path after"] += is_saved(agents)
        agents.start()
        if number % 10 == 9:
            print(f"{number + 1} of {kills} kills", file=sys.stderr, flush=True)
    agents.wait()


def known_paths(agents, losses):
    """What `kirikae paths` tells: there is one path."""
    said = said_by(agents.kirikae, "paths", "--json")
    if said is None:
        losses.append("`kirikae paths` does not work")
        return None
    told = json.loads(said)
    if len(told["paths"]) != 1:
        losses.append(f"`kirikae paths` lists {len(told['paths'])} paths, not the one that there is")
    return told


def learn(agents):
    """An agent that ends as it should leaves behind what those that are killed begin with."""
    agents.start()
    agents.wait()
    time.sleep(LEARN_S)
    end(agents.process, signal.SIGINT)


def read_again(agents, losses):
    """What the last agent has saved, as another one reads it."""
    agents.start()
    agents.wait()
    said = agents.text()
    if "paths known from before: 1" not in said:
        losses.append(f"what was saved is not read: {said}")
    end(agents.process, signal.SIGINT)
    return said.strip().splitlines()[0]


def described(name, results):
    if not results:
        return
    took = sorted(took for _, took, _ in results)
    print("{:22} {:6} transfers: median {:.0f} ms, 99 % {:.0f}, 99.9 % {:.0f}, longest {:.0f}; "
          "over {:.0f} ms: {}".format(
              name, len(took), *(1000 * took[int(q * (len(took) - 1))] for q in (0.5, 0.99, 0.999, 1)),
              1000 * STALL_S, sum(it > STALL_S for it in took)))


def report(loaded, first, counts, told, agents, state, again, losses):
    results = loaded["results"]
    wrong = [it[2] for it in results if it[2]]
    losses += sorted(set(wrong))[:10]
    if len(results) != loaded["made"]:
        losses.append(f"{loaded['made'] - len(results)} connections told nothing")
    print(os.uname().release)
    described("without an agent", [it for it in results if it[0] + it[1] < first])
    described("with agents killed", [it for it in results if it[0] + it[1] >= first])
    print(f"the client itself was late by {1000 * loaded['latest_s']:.0f} ms at most")
    print(f"connections: {loaded['made']}; answers that arrived intact: {len(results) - len(wrong)}; "
          f"errors: {len(wrong)}")
    print("; ".join(f"{name}: {count}" for name, count in counts.items()))
    said = list(agents.all_said())
    began = [it for it in said if "paths known from before" in it]
    # Those that had heard of the path before they read the file say nothing of it: what is newer stays.
    print(f"agents: {len(said)}; that said they switch: {sum('switching' in it for it in said)}; "
          f"that said they began with what was saved: {len(began)}; "
          f"that told of a file set aside: {sum('unreadable' in it for it in said)}")
    others = {line for it in said for line in it.splitlines()
              if not any(usual in line for usual in ("switching", "restored", "known from before"))}
    for line in sorted(others)[:20]:
        print("  said:", line)
    if told:
        numbers = ", ".join(f"{name} {value}" for name, value in told.items() if isinstance(value, int))
        print(f"`kirikae paths` after the last kill lists {len(told['paths'])} paths; {numbers}")
    print("state directory:", ", ".join(f"{name} ({size} bytes)" for name, size in state))
    print("the next agent said:", again)
    print("lost:", "; ".join(losses) or "nothing")


def play(options, directory):
    """Plays everything; answers what was lost."""
    losses, again = [], ""
    counts = {name: 0 for name in ("kills", "while it starts", "while it ends", "had ended before",
                                   "the file had the path after")}
    file = f"{directory}/results.json"
    kirikae, lab = (f"{options.directory}/{name}" for name in ("kirikae", "kirikae-lab"))
    with emulated(lab, directory) as (server, address, client):
        agents = Agents(kirikae, directory, server)
        try:
            with child(lambda pipe: serve(address, pipe), server) as listening:
                listening.settimeout(MOMENT_S)
                listening.recv(1)
                with child(lambda pipe: load(address, file, pipe), client):
                    time.sleep(WITHOUT_S)
                    first = time.monotonic()
                    learn(agents)
                    agents.start()
                    kill_all(agents, options.kills, options.seed, counts, losses)
                    time.sleep(AFTER_S)
                    told = known_paths(agents, losses)
            end(agents.process, signal.SIGINT)
            state = sorted((it.name, it.stat().st_size) for it in os.scandir(agents.state))
            again = read_again(agents, losses)
        finally:
            agents.stop()
        with open(file) as results:
            loaded = json.load(results)
        report(loaded, first, counts, told, agents, state, again, losses)
    if options.json:
        with open(options.json, "w") as out:
            json.dump(dict(loaded, first=first, counts=counts, losses=losses), out)
    return losses


def interrupted(number, _):
    raise KeyboardInterrupt if number != signal.SIGALRM else TimeoutError("the path is not there")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", default="target/release")
    parser.add_argument("--seed", metavar="N", type=int, default=1)
    parser.add_argument("--kills", metavar="N", type=int, default=100)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    for number in signal.SIGTERM, signal.SIGALRM:
        signal.signal(number, interrupted)
    try:
        with tempfile.TemporaryDirectory(prefix="kirikae-kills-") as directory:
            losses = play(options, directory)
    except KeyboardInterrupt:
        sys.exit("interrupted; everything that was started has ended")
    sys.exit(1 if losses else 0)


main()
