"""The first picture of an outcome, drawn with matplotlib."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._kirikae import Error, Outcome, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The palette of Okabe and Ito, which people with any colour vision tell apart, without the yellow that is pale on
# white. Styles and markers have other periods, so that the first 28 contenders all look different.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v")

# An axis is logarithmic if the largest value is so many times the smallest.
WIDE = 10
# A distribution is drawn by so many points: more cannot be seen.
POINTS = 1000
# The width of the last line of a distribution, at least, and of the first.
THIN, THICK = 1.0, 3.0
# Inches of a dot with its interval, and of what is around the rows; a figure is at least LOW.
DOT, AROUND, LOW = 0.16, 1.2, 3.0

# A part of the summary: a scenario, a contender, an estimate.
Part = Mapping[str, Any]


def plot(outcome: Outcome, scenario: str | None, ax: "Axes | None") -> "Axes":
    """What `Outcome.plot` draws."""
    scenarios: list[Part] = outcome.summary["scenarios"]
    chosen = [it for it in scenarios if scenario in (None, it["title"])]
    if not chosen:
        allowed = ", ".join(repr(it["title"]) for it in scenarios)
        raise Error(f"scenario: found {scenario!r}; allowed: {allowed}")
    if len({bool(it["contenders"]) for it in chosen}) > 1:
        raise Error("scenario: found none, and scenarios with bursts beside others; allowed: the title of one of them")
    match chosen:
        case [one] if one["contenders"]:
            return _latencies(ax, outcome, one)
        case [one]:
            return _goodputs(ax, outcome, one)
        case _:
            return _overview(ax, chosen)


def _latencies(ax: "Axes | None", outcome: Outcome, summary: Part) -> "Axes":
    """Which share of the bursts had arrived after which time, a line for each contender."""
    ax = _axes() if ax is None else ax
    due: dict[str, list[float | None]] = {it["contender"]: [] for it in summary["contenders"]}
    for title, contender, warmup, latency_s in _rows(outcome.bursts, "scenario", "contender", "warmup", "latency_s"):
        if title == summary["title"] and not warmup:
            due[contender].append(latency_s)
    ends = []
    for place, (contender, latencies) in enumerate(due.items()):
        arrived = sorted(it for it in latencies if it is not None)
        every = len(arrived) // POINTS + 1
        drawn = range((len(arrived) - 1) % every, len(arrived), every)
        ends += arrived[:1] + arrived[-1:]
        # It rises from 0, if any arrived.
        ax.step(
            arrived[:1] + [arrived[it] for it in drawn],
            [0.0][: len(arrived)] + [(it + 1) / len(latencies) for it in drawn],
            where="post",
            color=_of(COLOURS, place),
            linestyle=_of(STYLES, place),
            # Where lines lie upon each other, the earlier ones are seen on both sides of the later.
            linewidth=THIN + (THICK - THIN) * (1 - place / len(due)),
            label=contender,
        )
    _scale(ax, ends)
    ax.set(title=summary["title"], xlabel="latency of a burst [s]", ylabel="share of the bursts", ylim=(0, 1.02))
    ax.grid(alpha=0.3)
    ax.legend()
    return ax


def _goodputs(ax: "Axes | None", outcome: Outcome, summary: Part) -> "Axes":
    """The goodput of each flow, and the means of these, a row for each group of flows."""
    means = [(it["flow"], it["contender"], it["goodput_mbit"]) for it in summary["flows"]]
    flows = [
        (flow, contender, goodput / 1e6)
        for title, contender, flow, goodput in _rows(outcome.flows, "scenario", "contender", "flow", "goodput")
        if title == summary["title"] and goodput is not None
    ]
    ax = _dots(ax, means, flows)
    ax.set(title=summary["title"], xlabel="goodput of a flow [Mbit/s], and mean with 95 % interval")
    return ax


def _overview(ax: "Axes | None", summaries: Sequence[Part]) -> "Axes":
    """The means in several scenarios, a row for each, or for each group of flows in it."""
    if summaries[0]["contenders"]:
        what = "latency of a burst [s]"
        means = [(it["title"], part["contender"], part["mean_s"]) for it in summaries for part in it["contenders"]]
    else:
        what = "goodput of a flow [Mbit/s]"
        means = [
            (f"{it['title']}: {part['flow']}", part["contender"], part["goodput_mbit"])
            for it in summaries
            for part in it["flows"]
        ]
    ax = _dots(ax, means, [])
    ax.set(xlabel=f"{what}, mean with 95 % interval")
    return ax


def _dots(
    ax: "Axes | None", means: Sequence[tuple[str, str, Part | None]], values: Sequence[tuple[str, str, float]]
) -> "Axes":
    """Means with their intervals, and single values behind them, each with its row and contender."""
    rows = _places(row for row, _, _ in means)
    contenders = _places(contender for _, contender, _ in means)
    lines = len(contenders) + 1

    def y(row: str, contender: str) -> float:
        # The contenders of a row stand one below the other, with a gap between rows.
        return rows[row] + (contenders[contender] + 1) / lines - 0.5

    if ax is None:
        ax = _axes(max(LOW, AROUND + DOT * lines * len(rows)))
    for contender, place in contenders.items():
        colour, marker = _of(COLOURS, place), _of(MARKERS, place)
        own = [(value, y(row, contender)) for row, name, value in values if name == contender]
        ax.plot([x for x, _ in own], [y for _, y in own], marker, color=colour, alpha=0.3, markersize=4, mew=0)
        told = [(it, y(row, contender)) for row, name, it in means if name == contender and it is not None]
        ax.errorbar(
            [it["value"] for it, _ in told],
            [y for _, y in told],
            xerr=[it["half_width"] or 0 for it, _ in told],
            fmt=marker,
            color=colour,
            label=contender,
        )
    _scale(ax, [value for _, _, value in values] + [it["value"] for _, _, it in means if it is not None])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_yticks(range(len(rows)), list(rows))
    # Lines between the rows.
    ax.set_yticks([row + 0.5 for row in range(len(rows) - 1)], minor=True)
    ax.tick_params(axis="y", which="minor", length=0)
    ax.grid(axis="y", which="minor", alpha=0.3)
    ax.grid(axis="x", alpha=0.3)
    ax.legend()
    return ax


def _axes(height: float | None = None) -> "Axes":
    """Those of a new figure, `height` inches high."""
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise Error("matplotlib is not installed; allowed: from 3.8 up to 4: pip install 'kirikae[plot]'") from error
    figure, ax = pyplot.subplots(layout="constrained")
    if height is not None:
        figure.set_figheight(height)
    return ax


def _scale(ax: "Axes", values: Iterable[float]) -> None:
    """Makes the horizontal axis one that shows these values."""
    values = list(values)
    if values and 0 < WIDE * min(values) <= max(values):
        from matplotlib.ticker import LogLocator

        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter("")
    else:
        ax.set_xlim(left=0)


def _rows(table: Table, *names: str) -> Iterator[tuple[Any, ...]]:
    """The rows of a table, of these columns."""
    return zip(*(table.column(name) for name in names), strict=True)


def _places(names: Iterable[str]) -> dict[str, int]:
    """Each of the names once, with its place among those that are new."""
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def _of(looks: Sequence[str], place: int) -> str:
    """The look of the contender at this place."""
    return looks[place % len(looks)]
