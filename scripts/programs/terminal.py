"""A terminal that scrolls, over ssh: 25 lines thirty times a second."""

import os
import pathlib
import subprocess
import sys
import time

from clock import Clock, there

PORT = 2222
EVERY = 1 / 30
LINES = 25


def scroll(directory):
    clock = Clock(directory, EVERY)
    number = 0
    while True:
        time.sleep(clock.left(number))
        lines = [os.urandom(38).hex() for _ in range(LINES)]
        sys.stdout.write("\n".join([f"= {number}", *lines]) + "\n")
        sys.stdout.flush()
        number += 1


def key(directory, name):
    file = pathlib.Path(directory) / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file], check=True)
    return file


def serve(directory, address):
    host, user = key(directory, "host"), key(directory, "user")
    config = pathlib.Path(directory) / "sshd_config"
    config.write_text(
        f"Port {PORT}\nListenAddress {address}\nHostKey {host}\nAuthorizedKeysFile {user}.pub\n"
        "PermitRootLogin yes\nPasswordAuthentication no\nUsePAM no\nStrictModes no\n"
        "PidFile none\n"
    )
    pathlib.Path("/run/sshd").mkdir(exist_ok=True)
    os.execv("/usr/sbin/sshd", ["/usr/sbin/sshd", "-D", "-f", str(config)])


def watch(directory, address):
    command = [
        *["ssh", "-tt", "-q", "-p", str(PORT), "-i", f"{directory}/user"],
        *["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"],
        f"root@{address}",
        *[sys.executable, os.path.abspath(__file__), "scroll", directory, address],
    ]
    ssh = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    number = None
    for line in ssh.stdout:
        if line.startswith(b"= "):
            number = int(line[2:])
            lines_left = LINES
        elif number is not None:
            lines_left -= 1
            if lines_left == 0:
                there(number)


role, directory, address = sys.argv[1:]
if role == "scroll":
    scroll(directory)
else:
    {"serve": serve, "watch": watch}[role](directory, address)
