"""A latency table with as many places as there can be, by each way of measuring one:
`python python/benches/characterize.py`.

The variable KIRIKAE_LAB names the command line, built as the package is.
"""

import hashlib
import os
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Callable

import kirikae

# 8 round-trip times, rates and bursts, and 32 conditions.
GRID = """
seed = 1
algorithms = ["cubic"]
rtt = ["10 ms", "20 ms", "40 ms", "60 ms", "80 ms", "100 ms", "150 ms", "200 ms"]
rate = ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s", "8 Mbit/s", "15 Mbit/s", "30 Mbit/s", "60 Mbit/s", "100 Mbit/s"]
burst = ["2 KiB", "4 KiB", "6 KiB", "8 KiB", "12 KiB", "16 KiB", "24 KiB", "32 KiB"]
loss = [0, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2]
queue = ["10 packets", "30 packets", "100 packets", "1000 packets"]
[confidence]
volume = "256 KiB"
"""
SHARDS = 4


def main() -> None:
    lab = [os.path.abspath(os.environ["KIRIKAE_LAB"])]
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        pathlib.Path("grid.toml").write_text(GRID)
        grid = kirikae.Grid.load("grid.toml")

        def command() -> None:
            run([*lab, "characterize", "grid.toml", "--output", "command.csv"])

        def shards() -> None:
            files = [f"{number}.shard" for number in range(1, SHARDS + 1)]
            for number, file in enumerate(files, 1):
                run([*lab, "characterize", "grid.toml", "--shard", f"{number}/{SHARDS}", "--output", file])
            run([*lab, "merge", *files, "--output", "shards.csv"])

        def package() -> None:
            kirikae.characterize(grid).write("package.csv")

        def processes() -> None:
            kirikae.characterize(grid, engine=kirikae.Processes(), batch=500).write("processes.csv")

        def on_ray() -> None:
            kirikae.characterize(grid, engine=ray, batch=500).write("ray.csv")

        print(f"{len(grid)} places")
        timed("the command line in one process", command, "command.csv")
        timed(f"the command line, {SHARDS} shards one after the other and merge", shards, "shards.csv")
        timed("the package in one process", package, "package.csv")
        timed("the package, Processes", processes, "processes.csv")
        ray = kirikae.Ray("local", include_dashboard=False, log_to_driver=False)
        timed("the package, Ray", on_ray, "ray.csv")


def run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def timed(what: str, how: Callable[[], None], file: str) -> None:
    begin = time.perf_counter()
    how()
    took = time.perf_counter() - begin
    print(f"{what}: {took:.1f} s, SHA-256 {hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest()}", flush=True)


if __name__ == "__main__":
    main()
