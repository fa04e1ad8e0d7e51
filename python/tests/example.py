"""What `mypy --strict` looks at, and a test runs."""

import kirikae


def latencies(path: str) -> dict[str, float]:
    """The mean latency of each contender in seconds."""
    scenario = kirikae.Scenario.load(path).with_({"workload.count": 5}, seed=7)
    try:
        outcome = kirikae.simulate(scenario, repetitions=2, contenders=["cubic", "kk_hybla"])
    except kirikae.ScenarioError as error:
        raise SystemExit(f"{error.file}:{error.line}: {error.key}: {error.message}") from error
    assert len(outcome.bursts) > 0
    (summary,) = outcome.summary["scenarios"]
    return {it["contender"]: it["mean_s"]["value"] for it in summary["contenders"]}


def choices(rtt: str) -> dict[float, str]:
    """What is chosen at each loss rate of the table."""
    by_loss = kirikae.explain(rtt, "1%", rate=20).by_loss
    return dict(zip(by_loss.column("loss"), by_loss.column("name"), strict=True))
