"""Algorithms from outside: compiled, checked, and simulated beside those that there are."""

import pytest
from conftest import ROOT
from kirikae import Algorithm, Error, Processes, Scenario, simulate
from kirikae._kirikae import Plan

RENO = ROOT / "bpf/algorithms/reno.bpf.c"
# What a loss leaves.
HALF = "reno_half(tcp_sk(sk))"


@pytest.fixture
def written(tmp_path):
    """Writes a file of our Reno under another name, with another window after a loss."""

    def write(after_loss=HALF, name="mine"):
        text = RENO.read_text()
        for before, after in [("(reno)", f"({name})"), ("(reno,", f"({name},"), ("kk_reno", f"kk_{name}")]:
            assert before in text
            text = text.replace(before, after)
        assert HALF in text
        text = text.replace(HALF, after_loss)
        path = tmp_path / f"{name}.bpf.c"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def lossy(values):
    """A scenario in which segments are lost."""
    loss = {"element": "loss", "probability": 0.02}
    values["path"]["forward"].append(loss)
    values["workload"].update(count=20, burst="64 KiB")
    return Scenario(**values)


def latencies(outcome, contender):
    bursts = outcome.bursts
    pairs = zip(bursts.column("contender"), bursts.column("latency_s"), strict=True)
    return [latency for it, latency in pairs if it == contender]


def test_it_does_as_its_code_says(written, lossy):
    same = Algorithm.from_c(written())
    cautious = Algorithm.from_c(written("2", name="cautious"))
    assert same.about["parameters"] == {"idle_keep": 1}
    outcome = simulate(lossy, contenders=["cubic", same, "kk_reno", cautious])
    assert latencies(outcome, "kk_mine") == latencies(outcome, "kk_reno") != []
    assert sum(latencies(outcome, "kk_cautious")) > sum(latencies(outcome, "kk_reno"))
    names = [it["contender"] for it in outcome.summary["scenarios"][0]["contenders"]]
    assert names == ["cubic", "kk_mine", "kk_reno", "kk_cautious"]


def test_it_travels(written, lossy, tmp_path):
    contenders = ["cubic", Algorithm.from_c(written("2"))]
    expected = simulate(lossy, contenders=contenders).to_json()
    for _ in range(2):
        found = simulate(lossy, contenders=contenders, engine=Processes(2), campaign=tmp_path / "kept")
        assert found.to_json() == expected


def test_of_one_name_the_one_that_is_asked_for_counts(written, lossy, tmp_path):
    mine, changed = Algorithm.from_c(written()), Algorithm.from_c(written("2"))
    assert mine.name == changed.name
    assert mine.digest != changed.digest

    def told(campaign):
        return [simulate(lossy, contenders=it, campaign=campaign).to_json() for it in (mine, changed, mine)]

    outcomes = told(None)
    assert outcomes[0] == outcomes[2] != outcomes[1]
    assert told(tmp_path / "kept") == outcomes


@pytest.mark.parametrize(
    ("after_loss", "told"),
    [
        ("({ int unused; 2; })", "mine.bpf.c:.*unused"),
        ("1", "kk_mine: what must hold does not: "),
        ("100 / tcp_sk(sk)->lost_out", "a check ended with SIG(ILL|FPE)"),
    ],
)
def test_what_is_wrong_with_its_code_is_told(written, after_loss, told):
    with pytest.raises(Error, match=rf"(?s){told}"):
        Algorithm.from_c(written(after_loss))


def test_what_is_wrong_with_its_file_is_told(written, lossy, tmp_path, monkeypatch):
    with pytest.raises(Error, match="kk_cubic is one of ours"):
        Algorithm.from_c(written(name="cubic"))
    with pytest.raises(Error, match=r"absent.bpf.c: No such file"):
        Algorithm.from_c(tmp_path / "absent.bpf.c")
    with pytest.raises(Error, match="loading kk_mine: "):
        Algorithm("kk_mine", b"no object", False).load()
    mine = Algorithm.from_c(written())
    names = [it[3] for it in Plan(lossy, contenders=["all", mine.name]).series]
    assert names[0] == "cubic" and names[-1] == "kk_mine" and "kk_reno" in names
    with pytest.raises(Error, match='contenders: found "kk_mine" twice; allowed: each once'):
        simulate(lossy, contenders=[mine, mine])
    monkeypatch.setenv("CC", "nowhere-cc")
    with pytest.raises(Error, match="running nowhere-cc: .*; allowed: a C compiler as cc, or in CC"):
        Algorithm.from_c(written())
