"""How far something is that takes its time, for whoever waits for it."""

import sys
import warnings
from typing import TYPE_CHECKING, Never

if TYPE_CHECKING:
    from tqdm.auto import tqdm

# What is done earlier shows nothing.
DELAY_S = 2


def progress(total: int, unit: str, link: str | None = None) -> "tqdm[Never]":
    """A bar of so many of something, with the time left, in a notebook or a terminal; elsewhere it shows nothing.

    `link` leads to what else tells of it. The bar goes away when it is closed.
    """
    with warnings.catch_warnings():
        # A notebook without ipywidgets has the bar of a terminal.
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    shown = "ipykernel" in sys.modules or sys.stderr.isatty()
    return tqdm(total=total, unit=f" {unit}", desc=link, delay=DELAY_S, leave=False, disable=not shown)
