"""What `mypy --strict` reads: the package as one uses it."""

import kirikae


def mean_latency_s(path: str) -> dict[str, float]:
    outcome = kirikae.simulate(kirikae.Scenario.load(path).with_(seed=7), contenders=["cubic"])
    contenders = outcome.summary["scenarios"][0]["contenders"]
    return {each["contender"]: each["mean_s"]["value"] for each in contenders}
