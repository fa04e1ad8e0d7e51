import os
import subprocess
import sys
import termios

import pytest

# Some tenths of a second; a bar is shown at once.
PROGRAM = """
import kirikae
from kirikae import progress
progress.DELAY_S = 0
scenario = kirikae.Scenario.load({file!r}).with_({{"workload.count": 2000}})
kirikae.simulate(scenario, contenders="cubic", repetitions=40, {arguments})
"""


@pytest.mark.parametrize("arguments", ["threads=1", "engine=kirikae.Threads(1)", "engine=kirikae.Processes(1), batch=5"])
def test_a_terminal_shows_a_bar_and_a_pipe_nothing(shallow, arguments):
    command = [sys.executable, "-c", PROGRAM.format(file=shallow, arguments=arguments)]
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
    assert b"/40 [" in told and b"simulations/s]" in told
    # It leaves nothing behind.
    assert told.endswith(b"\r")
    piped = subprocess.run(command, check=True, capture_output=True)
    assert piped.stdout == piped.stderr == b""
