import subprocess
import sys

import matplotlib
import pytest
from conftest import ROOT
from kirikae import Error, Scenario, simulate
from matplotlib import pyplot

# Where there is no screen.
matplotlib.use("agg")


@pytest.fixture(autouse=True)
def figures():
    yield
    pyplot.close("all")


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def points(line):
    return list(zip(line.get_xdata(), line.get_ydata(), strict=True))


def test_latencies_of_bursts_are_distributions(values):
    outcome = simulate(Scenario(**values), repetitions=3)
    ax = outcome.plot()
    assert labels(ax) == ["cubic", "kk_hybla"]
    assert (ax.get_title(), ax.get_xlabel()) == ("From Python", "latency of a burst [s]")
    for line in ax.get_lines():
        contenders, warmup, latencies = (
            outcome.bursts.column(name) for name in ("contender", "warmup", "latency_s")
        )
        rows = zip(contenders, warmup, latencies, strict=True)
        counted = sorted(it for name, early, it in rows if name == line.get_label() and not early)
        shares = [(place + 1) / len(counted) for place in range(len(counted))]
        assert points(line) == [(counted[0], 0), *zip(counted, shares, strict=True)]
    # They look different.
    assert len({(it.get_color(), it.get_linestyle()) for it in ax.get_lines()}) == 2


def test_bursts_that_did_not_arrive_are_no_share(values):
    values["path"]["forward"].insert(0, {"element": "loss", "probability": 0.6})
    outcome = simulate(Scenario(**values), contenders="cubic", repetitions=20)
    rows = zip(outcome.bursts.column("warmup"), outcome.bursts.column("latency_s"), strict=True)
    counted = [latency for warmup, latency in rows if not warmup]
    missing = counted.count(None) / len(counted)
    assert 0 < missing < 1
    (line,) = outcome.plot().get_lines()
    assert line.get_ydata()[-1] == pytest.approx(1 - missing)


def test_nothing_that_arrived_is_a_contender_without_a_line(values):
    values["path"]["forward"].insert(0, {"element": "loss", "probability": 0.97})
    ax = simulate(Scenario(**values), contenders="cubic").plot()
    assert labels(ax) == ["cubic"] and points(ax.get_lines()[0]) == []


def test_long_distributions_have_fewer_points_and_both_ends(values):
    values["workload"]["count"] = 2500
    outcome = simulate(Scenario(**values), contenders="cubic")
    (line,) = outcome.plot().get_lines()
    latencies = sorted(outcome.bursts.column("latency_s")[1:])
    assert 500 < len(points(line)) <= 1001
    assert points(line)[0] == (latencies[0], 0) and points(line)[-1] == (latencies[-1], 1)


def test_an_axis_is_logarithmic_where_it_helps(values):
    assert simulate(Scenario(**values)).plot().get_xscale() == "linear"
    values["path"]["forward"].insert(0, {"element": "loss", "probability": 0.2})
    assert simulate(Scenario(**values), repetitions=10).plot().get_xscale() == "log"


def test_flows_without_bursts_have_goodputs():
    scenario = Scenario.load(ROOT / "scenarios/dumbbell.toml").with_({"sim.duration": "5 s"})
    outcome = simulate(scenario, contenders="cubic,kk_reno", repetitions=2)
    ax = outcome.plot()
    assert labels(ax) == ["cubic", "kk_reno"]
    assert [it.get_text() for it in ax.get_yticklabels()] == ["near", "far"]
    assert ax.get_xlabel().startswith("goodput of a flow [Mbit/s]")
    values = sorted(x for line in ax.get_lines() if line.get_alpha() for x in line.get_xdata())
    assert values == sorted(it / 1e6 for it in outcome.flows.column("goodput"))


def test_several_scenarios_are_rows(values):
    scenarios = [Scenario(**values), Scenario(**values).with_(title="Another")]
    outcome = simulate(scenarios, repetitions=2)
    ax = outcome.plot()
    assert [it.get_text() for it in ax.get_yticklabels()] == ["From Python", "Another"]
    means = [part["mean_s"]["value"] for it in outcome.summary["scenarios"] for part in it["contenders"]]
    drawn = [x for line in ax.get_lines() for x in line.get_xdata()]
    assert set(means) <= set(drawn)
    assert outcome.plot(scenario="Another").get_title() == "Another"
    with pytest.raises(Error, match="^scenario: found 'Third'; allowed: 'From Python', 'Another'$"):
        outcome.plot(scenario="Third")


def test_it_draws_into_what_is_given(values):
    _, axes = pyplot.subplots(1, 2)
    assert simulate(Scenario(**values)).plot(ax=axes[1]) is axes[1]
    assert not axes[0].get_lines() and axes[1].get_lines()
    assert len(pyplot.get_fignums()) == 1


def test_bursts_and_flows_are_not_in_one_picture(values):
    flows = Scenario.load(ROOT / "scenarios/dumbbell.toml").with_({"sim.duration": "2 s"})
    outcome = simulate([Scenario(**values), flows], contenders="cubic", repetitions=1)
    with pytest.raises(Error, match="^scenario: found none, and scenarios with bursts beside others; allowed: "):
        outcome.plot()


def test_matplotlib_is_asked_for_where_it_is_not(values):
    program = f"""
import sys
sys.modules["matplotlib.pyplot"] = None
import kirikae
try:
    kirikae.simulate(kirikae.Scenario(**{values!r})).plot()
except kirikae.Error as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert told.stdout == "matplotlib is not installed; allowed: from 3.8 up to 4: pip install 'kirikae[plot]'\n"
