import pytest
from kirikae import Scenario
from kirikae.batches import Series
from kirikae.rounds import rounds


@pytest.fixture
def series(values):
    return Series(0, Scenario(**values), 0, "From Python", "cubic", 2**64 - 2, 10_000)


def test_batches_are_of_seeds_that_follow_each_other(series):
    (every,) = rounds([(series, [0, 1, 2, 5, 6, 9])], 2, {})
    # 0 follows the last seed that there is.
    assert [(it.seed, it.count) for it in every] == [(2**64 - 2, 2), (0, 1), (3, 2), (7, 1)]
    assert [it.number for it in every] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("count", "seconds", "counts"),
    [
        (2, 1.0, []),
        # 2 s each.
        (100, 0.1, [20, 20, 20, 20, 17]),
        (6, 30.0, [1, 1, 1]),
        # A thousand of them.
        (10_000, 0.5, [10] * 999 + [7]),
        # 10 s each.
        (10_000, 2.0, [5] * 1999 + [2]),
        # Nobody knows.
        (10, None, [3, 3, 1]),
    ],
)
def test_first_seeds_tell_how_many_a_batch_has(series, count, seconds, counts):
    told = {}
    every = rounds([(series, range(count))], None, told)
    (first,) = next(every)
    assert (first.seed, first.count) == (series.seed, min(3, count))
    if seconds is not None:
        told[0] = seconds
    assert [batch.count for batch in next(every)] == counts
    assert not list(every)
