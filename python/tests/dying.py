"""A worker's function that ends its process in the midst of a batch, by a signal that nobody can handle."""

import os
import pathlib
import signal

from kirikae import batches


def once(batch):
    """Ends the process if it is the first that computes this batch."""
    try:
        pathlib.Path(os.environ["DYING"], str(batch.number)).touch(exist_ok=False)
    except FileExistsError:
        return batches.run(batch)
    os.kill(os.getpid(), signal.SIGKILL)


def always(batch):
    """Ends the process if the batch is the first."""
    if batch.number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return batches.run(batch)
