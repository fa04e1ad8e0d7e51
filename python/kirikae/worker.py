"""A process that computes batches for `kirikae.engines.Processes`: asked on its standard input, tells on its output."""

import contextlib
import os
import pickle
import signal
import sys


def main() -> None:
    # Ctrl-C in a terminal reaches it, too, and is for the process that asks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What else is printed must not come between the results.
    told = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Whoever asked may be gone at any time.
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            function, batch = pickle.load(sys.stdin.buffer)
            pickle.dump(function(batch), told)
            told.flush()


if __name__ == "__main__":
    main()
