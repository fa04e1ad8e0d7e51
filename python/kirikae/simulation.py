"""Simulates scenarios: at once in this process, or in batches by an engine."""

import os
from collections.abc import Sequence
from concurrent.futures import Executor

from . import algorithm, batches
from ._kirikae import Error, Outcome, Plan, Results, Scenario, Table
from .algorithm import Contenders
from .batches import Batch, Done, Failed, Series
from .campaign import Campaign
from .engines import Engine, Threads, dashboard, engine_of
from .progress import progress
from .rounds import rounds


class BatchError(Error):
    """Batches failed, or their engine did. `outcome` is what came of the others."""

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


def simulate(
    scenario: Scenario | Sequence[Scenario],
    *,
    repetitions: int | None = None,
    seed: int | None = None,
    seeds: range | None = None,
    contenders: Contenders | None = None,
    threads: int | None = None,
    engine: Engine | Executor | None = None,
    campaign: str | os.PathLike[str] | None = None,
    batch: int | None = None,
) -> Outcome:
    """Simulates every contender of every scenario, and returns their Outcome.

    `scenario` is a Scenario or a list of them. `repetitions` (1 to 10000) is how often each contender is simulated,
    each time with the next seed; `seed` is the first (0 or above). `seeds` says both, as a range such as range(1, 11).
    `contenders` is a list of names and of Algorithms from outside, or "all". Without them it is what the scenarios
    say. `threads` (1 to 1024) is how many simulations run at a time; without it as many as RAYON_NUM_THREADS says, or
    cores.

    With `engine` or `campaign` it is done in batches of some seeds of one contender of one scenario, and comes out the
    same: `engine` computes them (Threads, Processes, Ray, an executor of concurrent.futures, or anything with
    `map(function, batches)`), and the directory `campaign` keeps what came of each, so that it is not computed again.
    A batch has `batch` seeds (1 to 10000), without it as many as take some seconds. When some fail, the others are
    computed all the same, and then BatchError is raised, whose `outcome` is what came of these.

    In a terminal or a notebook a bar shows how far it is, from two seconds on. Ctrl-C ends it. Raises ScenarioError if
    a scenario cannot be simulated, and Error for anything else.
    """
    names, outside = algorithm.named(contenders)
    plan = Plan(scenario, repetitions=repetitions, seed=seed, seeds=seeds, contenders=names)
    series = batches.of_plan(plan, outside)
    if engine is None and campaign is None:
        with progress(sum(it.count for it in series), "simulations") as bar:
            return plan.simulate(threads, progress=lambda done: bar.update(done - bar.n))
    if batch is not None and not 1 <= batch <= 10_000:
        raise Error(f"batch: found {batch}; allowed: 1 to 10000")
    if engine is not None and threads is not None:
        raise Error("threads: found an engine beside it; allowed: one of the two")
    engine = Threads(threads) if engine is None else engine_of(engine)
    return _in_batches(plan, series, engine, None if campaign is None else Campaign(campaign), batch)


def trace(
    scenario: Scenario | Sequence[Scenario],
    *,
    repetitions: int | None = None,
    seed: int | None = None,
    seeds: range | None = None,
    contenders: Contenders | None = None,
    threads: int | None = None,
) -> Table:
    """What the senders knew while they were simulated, as a Table: that of `kirikae-lab sim --trace`.

    >>> rows = polars.DataFrame(kirikae.trace(scenario, contenders=["cubic", "kirikae"], repetitions=1))
    >>> rows.filter(polars.col("flow") == 0).select("contender", "time_s", "cwnd", "srtt_us")

    It has a row for each segment that a sending end has dealt with, mostly ACKs, after it has: its `scenario`,
    `contender` and `seed`, and the columns that `--trace` has. The arguments are those of `simulate`. Ctrl-C ends it.
    Raises what `simulate` raises.
    """
    names, _ = algorithm.named(contenders)
    return Plan(scenario, repetitions=repetitions, seed=seed, seeds=seeds, contenders=names).trace(threads)


def _in_batches(
    plan: Plan, all_series: Sequence[Series], engine: Engine, campaign: Campaign | None, size: int | None
) -> Outcome:
    """What came of a plan: what is kept, and the rest from the engine."""
    results: list[tuple[int, Results]] = []
    missing: list[tuple[Series, Sequence[int]]] = []
    for series in all_series:
        kept, places = campaign.load(series) if campaign else ([], range(series.count))
        results += [(series.number, it) for it in kept]
        missing.append((series, places))
    asked: list[Batch] = []
    failed: list[Failed] = []
    seconds: dict[int, float] = {}
    given, total = 0, sum(len(places) for _, places in missing)
    try:
        with progress(total, "simulations", dashboard(engine)) as bar:
            for some in rounds(missing, size, seconds):
                asked += some
                for result in engine.map(batches.run, some) if some else []:
                    batch = asked[result.number]
                    match result:
                        case Done(_, packed, took):
                            if campaign:
                                campaign.keep(batch, packed)
                            # While the others are computed.
                            results.append((batch.series.number, Results(packed)))
                            seconds[batch.series.number] = took
                        case Failed():
                            failed.append(result)
                    bar.update(batch.count)
                    given += batch.count
    except Error:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        told = f"the engine failed with {given} of {total} simulations done: {what}"
        raise BatchError(told, plan.outcome(results)) from error
    outcome = plan.outcome(results)
    if failed:
        raise BatchError(batches.failures(failed, asked), outcome)
    if given < total:
        raise BatchError(f"the engine gave {given} of {total} simulations; allowed: all", outcome)
    return outcome
