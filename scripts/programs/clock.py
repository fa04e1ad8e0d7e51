"""When what has a number is due, and that it is there."""

import pathlib
import sys
import time


class Clock:
    """Numbers from 0 on, each due so long after the one before it."""

    def __init__(self, directory, every):
        self.begin = time.monotonic()
        self.every = every
        # Moved into place: whoever reads it finds all of it.
        written = pathlib.Path(directory) / "begin.new"
        written.write_text(f"{self.begin} {every}")
        written.rename(pathlib.Path(directory) / "begin")

    def due(self, number):
        return self.begin + number * self.every

    def left(self, number):
        return max(0.0, self.due(number) - time.monotonic())


def there(number):
    """The other end has it now."""
    sys.stdout.write(f"{number} {time.monotonic()}\n")
    sys.stdout.flush()
