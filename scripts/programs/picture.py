"""Numbers in a picture, that survive compression: black and white squares, and noise below them."""

import os

WIDTH, HEIGHT = 320, 240
SQUARE = 16
BITS = 16


def strip(number):
    """The picture's first SQUARE lines, a byte of brightness for each pixel."""
    row = b"".join(
        (b"\xff" if number >> bit & 1 else b"\0") * SQUARE for bit in range(BITS)
    )
    return row.ljust(WIDTH, b"\0") * SQUARE


def number_of(row):
    """What a line across the squares says; `row` has the brightness of each pixel."""
    return sum((row[bit * SQUARE + SQUARE // 2] > 127) << bit for bit in range(BITS))


def noise(lines):
    """So many lines that cannot be compressed, a byte for each pixel."""
    return os.urandom(WIDTH * lines)
