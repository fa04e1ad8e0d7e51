"""A screen that changes 30 times a second, by TigerVNC: its server and its viewer."""

import contextlib
import os
import subprocess
import sys
import time

from Xlib import X
from Xlib.display import Display
from Xlib.error import DisplayError

import picture
from clock import Clock, there

EVERY = 1 / 30
# Noise that is new in each picture, lines: 20 kB.
LINES = 20
FIRST_SCREEN, FIRST_VIEWER = 60, 70
PORT = 5900


def display(command, number):
    """An X server, and its screen when it is there."""
    subprocess.Popen([*command, f":{number}", "-nolisten", "tcp"], stderr=subprocess.DEVNULL)
    for _ in range(100):
        time.sleep(0.1)
        # The socket of one that was killed may still be there.
        with contextlib.suppress(DisplayError):
            return Display(f":{number}")
    sys.exit(f"error: no X server :{number}")


def size(margin=0):
    return f"{picture.WIDTH + margin}x{picture.HEIGHT + margin}"


def serve(directory, place, _address):
    server = ["Xtigervnc", "-geometry", size(), "-depth", "24", "-rfbport", str(PORT)]
    shown = display([*server, "-SecurityTypes", "None", "-AlwaysShared"], FIRST_SCREEN + int(place))
    window = shown.screen().root
    context = window.create_gc()
    clock = Clock(directory, EVERY)
    number = 0
    while True:
        time.sleep(clock.left(number))
        row = picture.strip(number)[: picture.WIDTH]
        strip = b"".join(bytes(4) if dot == 0 else b"\xff\xff\xff\0" for dot in row)
        noise = os.urandom(4 * picture.WIDTH * LINES)
        # In one go, so that no picture has the number of another.
        window.put_image(context, 0, 0, picture.WIDTH, picture.SQUARE + LINES, X.ZPixmap, 24, 0,
                         strip * picture.SQUARE + noise)
        shown.flush()
        number += 1


def shown_in(root):
    """The viewer's window, once there is one."""
    while True:
        time.sleep(0.1)
        for window in root.query_tree().children:
            is_shown = window.get_attributes().map_state == X.IsViewable
            if is_shown and window.get_geometry().width >= picture.WIDTH:
                return window


def watch(directory, place, address):
    screen = display(["Xvfb", "-screen", "0", f"{size(40)}x24"], FIRST_VIEWER + int(place))
    environment = {**os.environ, "DISPLAY": f":{FIRST_VIEWER + int(place)}"}
    subprocess.Popen(
        ["xtigervncviewer", "-SecurityTypes=None", "-AutoSelect=0", "-PreferredEncoding=ZRLE",
         "-NoJPEG=1", "-RemoteResize=0", "-MenuKey=", f"{address}::{PORT}"],
        env=environment, stderr=subprocess.DEVNULL,
    )
    window = shown_in(screen.screen().root)
    latest = None
    while True:
        time.sleep(0.004)
        line = picture.SQUARE // 2
        image = window.get_image(0, line, picture.WIDTH, 1, X.ZPixmap, 0xFFFFFFFF)
        number = picture.number_of(image.data[::4])
        if number != latest:
            there(number)
            latest = number


role, directory, *arguments = sys.argv[1:]
{"serve": serve, "watch": watch}[role](directory, *arguments)
