"""How a sweep is cut into batches, so that each takes some seconds."""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from .batches import SEEDS, Batch, Series, code

# So many seeds of a series tell how long one takes: the first of a worker takes longer than the others.
FEW = 3
# What a batch should take, in seconds, and how many batches are enough to share the work out: in a long sweep they are
# longer, so that it is no more work to hand them out.
SHORT, LONG, ENOUGH = 2.0, 10.0, 1000

# The places of the seeds of a series that are to be simulated, in order.
Missing = Sequence[tuple[Series, Sequence[int]]]


def rounds(missing: Missing, size: int | None, seconds: Mapping[int, float]) -> Iterator[list[Batch]]:
    """The batches of what is missing, of `size` seeds; without it those of a first round, and when that is computed
    those of a second.

    `seconds` tells of each series, by its number, how many seconds a seed took in the first round.
    """
    numbers = itertools.count()

    def cut(series: Series, places: Sequence[int], size: int) -> Iterator[Batch]:
        for first, count in _ranges(places, size):
            yield Batch(next(numbers), series, (series.seed + first) % SEEDS, count, code())

    if size is not None:
        yield [batch for series, places in missing for batch in cut(series, places, size)]
        return
    yield [batch for series, places in missing for batch in cut(series, places[:FEW], FEW)]
    rest = [(series, places[FEW:]) for series, places in missing]
    total = sum(seconds.get(series.number, 0) * len(places) for series, places in rest)
    aim = min(max(SHORT, total / ENOUGH), LONG)

    def fitting(series: Series) -> int:
        took = seconds.get(series.number)
        # If it failed nobody knows.
        return FEW if took is None else max(1, round(aim / max(took, 1e-6)))

    yield [batch for series, places in rest for batch in cut(series, places, fitting(series))]


def _ranges(places: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """First place and length of ranges of at most `size` places that follow each other."""
    for _, run in itertools.groupby(enumerate(places), lambda it: it[1] - it[0]):
        following = [place for _, place in run]
        for begin in range(0, len(following), size):
            yield following[begin], min(size, len(following) - begin)
