# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Network namespaces, for the measurements beside this file."""

import ctypes
import subprocess
import threading

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_NETWORK = 0x40000000


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def inside(namespace, function):
    """Runs a function on a thread in a network namespace and returns what it does."""
    result = []

    def run():
        with open(f"/run/netns/{namespace}", encoding="ascii") as file:
            if LIBC.setns(file.fileno(), NEW_NETWORK):
                raise OSError(ctypes.get_errno(), "setns")
        result.append(function())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return result[0]
