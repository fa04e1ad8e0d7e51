"""A video as MPEG-TS over TCP by ffmpeg: 30 pictures a second, 4 Mbit/s."""

import subprocess
import sys
import time

import picture
from clock import Clock, there

PORT = 9000
EVERY = 1 / 30
RATE = "4M"
QUIET = ["ffmpeg", "-nostdin", "-loglevel", "error"]
RAW = ["-f", "rawvideo", "-pix_fmt", "gray"]


def serve(directory, address):
    """The pictures' own brightness is coded, without colours."""
    command = [
        *QUIET, *RAW, "-s", f"{picture.WIDTH}x{picture.HEIGHT}", "-r", "30", "-i", "pipe:0",
        *["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-pix_fmt", "yuv420p"],
        *["-g", "60", "-b:v", RATE, "-minrate", RATE, "-maxrate", RATE, "-bufsize", "1M"],
        *["-flush_packets", "1", "-muxdelay", "0", "-f", "mpegts"],
        f"tcp://{address}:{PORT}?tcp_nodelay=1",
    ]
    ffmpeg = subprocess.Popen(command, stdin=subprocess.PIPE)
    # A noise that is new in some of the lines: about as much as may be sent.
    lines = picture.HEIGHT - picture.SQUARE
    still = bytearray(picture.noise(lines))
    changed = picture.WIDTH * (lines // 4)
    clock = Clock(directory, EVERY)
    number = 0
    while True:
        time.sleep(clock.left(number))
        at = number % 4 * changed
        still[at : at + changed] = picture.noise(lines // 4)
        ffmpeg.stdin.write(picture.strip(number) + still)
        ffmpeg.stdin.flush()
        number += 1


def watch(directory, address):
    command = [
        *[*QUIET, "-fflags", "nobuffer", "-flags", "low_delay"],
        *["-probesize", "50k", "-analyzeduration", "0"],
        *["-f", "mpegts", "-i", f"tcp://{address}:{PORT}?listen=1"],
        *["-vf", f"crop={picture.WIDTH}:2:0:{picture.SQUARE // 2}"],
        *["-fps_mode", "passthrough", *RAW, "pipe:1"],
    ]
    ffmpeg = subprocess.Popen(command, stdout=subprocess.PIPE)
    while rows := ffmpeg.stdout.read(2 * picture.WIDTH):
        there(picture.number_of(rows))


role, directory, address = sys.argv[1:]
{"serve": serve, "watch": watch}[role](directory, address)
