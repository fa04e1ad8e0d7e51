import hashlib
import subprocess

import polars
import pytest
from kirikae import Error, Scenario, fit, simulate

# Bulk whose losses come in bursts.
SCENARIO = """
title = "Bulk"
seed = 1

[workload]
kind = "bulk"
bytes = "20 MB"

[[path.forward]]
element = "gilbert-elliott"
p = 0.005
r = 0.25
k = 1
h = 0

[[path.backward]]
element = "delay"
delay = "20 ms"

[bench]
contenders = ["bbr"]

[sim]
duration = "60 s"
"""
CAPTURE = "bulk.bbr.server.pcapng"


@pytest.fixture(scope="module")
def directory(lab, tmp_path_factory):
    """With a capture of each end."""
    directory = tmp_path_factory.mktemp("fit")
    (directory / "bulk.toml").write_text(SCENARIO)
    subprocess.run([lab, "sim", "bulk.toml", "--pcapng", "."], cwd=directory, check=True, capture_output=True)
    return directory


@pytest.mark.parametrize(
    ("arguments", "options"),
    [({}, []), ({"port": 5201, "at": "receiver"}, ["--port", "5201", "--at", "receiver"])],
)
def test_it_tells_what_the_command_line_tells(lab, directory, monkeypatch, arguments, options):
    monkeypatch.chdir(directory)

    def told(*more):
        return subprocess.run([lab, "fit", CAPTURE, *options, *more], check=True, capture_output=True).stdout

    fitted = fit(CAPTURE, **arguments)
    fitted.write("package.svg")
    assert str(fitted).encode() == told("--plot", "command.svg")
    assert fitted.to_json().encode() == told("--json")
    package, command = (hashlib.sha256((directory / f"{it}.svg").read_bytes()) for it in ("package", "command"))
    assert package.hexdigest() == command.hexdigest()
    assert fitted.element in str(fitted) and fitted._repr_html_().startswith("<pre>")


def test_parameters_and_runs_are_tables(directory):
    fitted = fit(directory / CAPTURE)
    parameters = polars.DataFrame(fitted.parameters)
    chosen = parameters.filter("chosen")
    assert chosen["parameter"].to_list() == ["p", "r"] and chosen["model"][0].startswith("simple Gilbert")
    assert (parameters["low"] < parameters["value"]).all() and (parameters["value"] < parameters["high"]).all()
    assert chosen["bic"].max() <= parameters["bic"].min()
    lost = polars.DataFrame(fitted.runs)["lost"].sum()
    assert f", {lost} of " in repr(fitted)


def test_an_element_is_simulated_again(directory):
    scenario = Scenario.from_toml(SCENARIO)
    element = Scenario.from_toml(
        SCENARIO[: SCENARIO.index("[[path.forward]]")]
        + fit(directory / CAPTURE).element
        + SCENARIO[SCENARIO.index("[[path.backward]]") :]
    )
    assert len(simulate(element).flows) == len(simulate(scenario).flows) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"capture": "none.pcapng"}, "^none.pcapng: No such file"),
        ({"capture": "bulk.toml"}, "^bulk.toml: no capture; allowed: "),
        ({"port": 80}, "no usable flow with port 80: "),
        ({"port": 65536}, "^port: found 65536; allowed: 0 to 65535$"),
        ({"at": "middle"}, '^at: found "middle"; allowed: sender, receiver$'),
        ({"number": "0:8"}, '^number: found "0:8"; allowed: rtp, iperf2'),
    ],
)
def test_what_cannot_be_fitted_is_refused(directory, monkeypatch, arguments, told):
    monkeypatch.chdir(directory)
    with pytest.raises(Error, match=told):
        fit(**({"capture": CAPTURE} | arguments))


def test_a_picture_that_cannot_be_written_is_told(directory):
    with pytest.raises(Error, match="^writing .*: Is a directory"):
        fit(directory / CAPTURE).write(directory)
