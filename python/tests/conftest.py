import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory):
    """A home of its own, into which Ray writes: the token by which all that this process starts is known."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def shallow():
    """A scenario file that is compared write by write."""
    return str(ROOT / "scenarios/shallow.toml")


@pytest.fixture(scope="session")
def lab():
    """The command line."""
    return os.environ.get("KIRIKAE_LAB", str(ROOT / "target/debug/kirikae-lab"))


@pytest.fixture(scope="session")
def command():
    """The command of servers."""
    return os.environ.get("KIRIKAE", str(ROOT / "target/debug/kirikae"))


@pytest.fixture
def values():
    """The same kind of scenario, as a dict."""
    rate = {"element": "rate", "rate": "5 Mbit/s", "queue": "20 packets"}
    return {
        "title": "From Python",
        "seed": 3,
        "workload": {
            "burst": "16 KiB",
            "interval": "1 s",
            "spacing": "fixed",
            "count": 4,
            "warmup": 1,
        },
        "path": {
            "forward": [rate, {"element": "delay", "delay": "20 ms"}],
            "backward": [{"element": "delay", "delay": "20 ms"}],
        },
        "bench": {"contenders": ["cubic", "kk_hybla"]},
    }


def ends_by_ctrl_c(call):
    """Whether a call that would take minutes, of which nobody waits for the end, ends by Ctrl-C."""
    program = f"""
import kirikae
print("begun", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as it:
        assert it.stdout.readline() == "begun\n"
        # It ends the same if the signal comes before it computes.
        time.sleep(0.5)
        it.send_signal(signal.SIGINT)
        return it.communicate(timeout=60)[0] == "interrupted\n" and it.returncode == 0
