import os
import subprocess
import sys
import termios

import pytest

# Some tenths of a second; a bar is shown at once.
BEGIN = """
import kirikae
from kirikae import progress
progress.DELAY_S = 0
"""
SIMULATIONS = """
scenario = kirikae.Scenario.load({file!r}).with_({{"workload.count": 2000}})
kirikae.simulate(scenario, contenders="cubic", repetitions=40, {arguments})
"""
PLACES = """
grid = kirikae.Grid.from_toml({grid!r})
kirikae.characterize(grid, engine=kirikae.Threads(1), batch=1)
"""
GRID = """
seed = 3
algorithms = ["kk_cubic", "kk_hybla"]
candidates = ["kk_cubic", "kk_hybla"]
rtt = ["20 ms"]
rate = ["1 Mbit/s"]
burst = ["4 KiB"]
loss = [0, 1e-2]
queue = ["10 packets", "100 packets"]
[confidence]
repetitions = [2, 3]
writes = [2, 4]
"""


@pytest.mark.parametrize(
    ("program", "of", "unit"),
    [
        *[
            (SIMULATIONS.replace("{arguments}", arguments), b"/40 [", b"simulations/s]")
            for arguments in ("threads=1", "engine=kirikae.Threads(1)", "engine=kirikae.Processes(1), batch=5")
        ],
        (PLACES, b"/4 [", b"batches"),
    ],
)
def test_a_terminal_shows_a_bar_and_a_pipe_nothing(shallow, program, of, unit):
    command = [sys.executable, "-c", BEGIN + program.format(file=shallow, grid=GRID)]
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    with subprocess.Popen(command, stderr=theirs) as program:
        os.close(theirs)
        told = b""
        # It ends with an error when nobody has the terminal open any more.
        try:
            while part := os.read(ours, 1000):
                told += part
        except OSError:
            pass
    os.close(ours)
    assert program.returncode == 0
    assert of in told and unit in told
    # It leaves nothing behind.
    assert told.endswith(b"\r")
    piped = subprocess.run(command, check=True, capture_output=True)
    assert piped.stdout == piped.stderr == b""
