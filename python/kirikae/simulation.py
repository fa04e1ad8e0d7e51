"""Simulates scenarios: at once in this process, or in batches by an engine."""

import gzip
import os
from collections.abc import Sequence
from concurrent.futures import Executor

from . import batches
from ._kirikae import Error, Outcome, Plan, Results, Scenario
from .batches import Batch, Done, Failed
from .campaign import Campaign
from .engines import Engine, Futures, Threads

# So many failures are told one by one.
TOLD = 10


def simulate(
    scenario: Scenario | Sequence[Scenario],
    *,
    repetitions: int | None = None,
    seed: int | None = None,
    seeds: range | None = None,
    contenders: str | Sequence[str] | None = None,
    threads: int | None = None,
    engine: Engine | Executor | None = None,
    campaign: str | os.PathLike[str] | None = None,
    batch: int = 20,
) -> Outcome:
    """Simulates every contender of every scenario, and returns their Outcome.

    `scenario` is a Scenario or a list of them. `repetitions` (1 to 10000) is how often each contender is simulated,
    each time with the next seed; `seed` is the first (0 or above). `seeds` says both, as a range such as range(1, 11).
    `contenders` is a list of names, or "all". Without them it is what the scenarios say. `threads` (1 to 1024) is how
    many simulations run at a time; without it as many as RAYON_NUM_THREADS says, or cores.

    With `engine` or `campaign` it is done in batches of `batch` (1 to 10000) seeds of one contender of one scenario,
    and comes out the same: `engine` computes them (Threads, Processes, Ray, an executor of concurrent.futures, or
    anything with `map(function, batches)`), and the directory `campaign` keeps what came of each, so that it is not
    computed again. Batches that fail are told when the others are done.

    Ctrl-C ends it. Raises ScenarioError if a scenario cannot be simulated, and Error for anything else.
    """
    plan = Plan(scenario, repetitions=repetitions, seed=seed, seeds=seeds, contenders=contenders)
    if engine is None and campaign is None:
        return plan.simulate(threads)
    if not 1 <= batch <= 10_000:
        raise Error(f"batch: found {batch}; allowed: 1 to 10000")
    if engine is not None and threads is not None:
        raise Error("threads: found an engine beside it; allowed: one of the two")
    if engine is None:
        engine = Threads(threads)
    elif isinstance(engine, Executor):
        engine = Futures(engine)
    elif not callable(getattr(engine, "map", None)):
        raise Error(f"engine: found {engine!r}; allowed: what has map(function, batches)")
    kept = None if campaign is None else Campaign(campaign)
    return plan.outcome(_computed(batches.of_plan(plan, batch), engine, kept))


def _computed(every: Sequence[Batch], engine: Engine, campaign: Campaign | None) -> list[Results]:
    """The results of all batches in order, those that are kept and the others from the engine."""
    done = {it.number: Results(kept) for it in every if campaign and (kept := campaign.load(it)) is not None}
    failed: list[Failed] = []
    missing = [it for it in every if it.number not in done]
    try:
        for result in engine.map(batches.run, missing):
            match result:
                case Done(number, packed):
                    if campaign:
                        campaign.keep(every[number], packed)
                    # While the others are computed.
                    done[number] = Results(gzip.decompress(packed))
                case Failed():
                    failed.append(result)
    except Error:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise Error(f"the engine failed with {len(done)} of {len(every)} batches done: {what}") from error
    if failed:
        told = "".join(f"\n{every[it.number]}: {it.why}" for it in failed[:TOLD])
        raise Error(f"{len(failed)} of {len(every)} batches failed:{told}")
    if len(done) < len(every):
        raise Error(f"the engine gave {len(done)} of {len(every)} batches; allowed: all")
    return [done[it.number] for it in every]
