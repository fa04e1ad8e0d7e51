import hashlib
import json
import shutil
import subprocess

import polars
import pytest
from conftest import ROOT, ends_by_ctrl_c
from kirikae import Error, Processes, Threads, reproduce
from kirikae.batches import Failed
from test_characterize import kept
from test_engines import Counting, cluster  # noqa: F401

STUDIES = ROOT / "studies"
# What takes a second or two, with tables and figures.
NAMES = ["thesis-wimax", "thesis-remedies"]
SHORT = {"short": True, "directory": STUDIES}


def digest(text):
    return hashlib.sha256(text).hexdigest()


@pytest.fixture(scope="module")
def command_line(lab, tmp_path_factory):
    """What the command line prints and writes of these studies: text, JSON, page."""
    page = tmp_path_factory.mktemp("reproduce") / "page.html"

    def told(*options):
        command = [lab, "reproduce", *NAMES, "--short", "--from", str(STUDIES), *options]
        # Whether all criteria are met is another matter.
        return digest(subprocess.run(command, capture_output=True).stdout)

    return [told("--report", str(page)), told("--json"), digest(page.read_bytes())]


def digests(reproduction, directory):
    page = directory / "page.html"
    reproduction.write(page)
    return [digest(it) for it in (f"{reproduction}".encode(), reproduction.to_json().encode(), page.read_bytes())]


ENGINES = {
    "none": lambda: None,
    "threads": lambda: Threads(2),
    "processes": lambda: Processes(2),
    "ray": None,
}


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_gives_the_bytes_of_the_command_line(command_line, name, tmp_path, request):
    engine = ENGINES[name]() if ENGINES[name] else request.getfixturevalue("cluster")
    # In whichever order they are named.
    reproduction = reproduce(NAMES[::-1], **SHORT, engine=engine)
    assert digests(reproduction, tmp_path) == command_line
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_other_seeds_are_those_of_the_command_line(lab, tmp_path):
    command = [lab, "reproduce", "thesis-remedies", "--from", str(STUDIES), "--json"]
    command += ["--seed", "7", "--repetitions", "2", "--seed-blocks", "1"]
    told = subprocess.run(command, capture_output=True).stdout
    arguments = {"seed": 7, "repetitions": 2, "seed_blocks": 1}
    assert reproduce("thesis-remedies", directory=STUDIES, **arguments).to_json().encode() == told


def test_what_came_out_is_tables():
    reproduction = reproduce(NAMES, **SHORT)
    told = json.loads(reproduction.to_json())
    criteria = polars.DataFrame(reproduction.criteria)
    every = [(study["study"], it) for study in told["studies"] for it in study["criteria"]]
    assert list(zip(criteria["study"], criteria["key"])) == [(study, it["key"]) for study, it in every]
    for (_, it), low, high in zip(every, criteria["at_least"], criteria["at_most"]):
        ((kind, bound),) = (it["bound"] or {"between": [None, None]}).items()
        assert [low, high] == {"at_least": [bound, None], "at_most": [None, bound], "between": bound}[kind]
    assert reproduction.agrees == all(it["met"] is not False for _, it in every)
    cells = polars.DataFrame(reproduction.cells)
    assert cells.height == sum(
        len(row["cells"]) for study in told["studies"] for table in study["tables"] for row in table["rows"]
    )
    assert cells["published"].drop_nulls().len() > 0
    points = polars.DataFrame(reproduction.points)
    assert points.height > 0 and set(points["study"]) <= set(NAMES)
    assert len(reproduction.claims) == 0
    assert repr(reproduction).startswith("<kirikae.Reproduction of 2 studies: ")
    assert reproduction._repr_html_().startswith("<pre>thesis-wimax, few repetitions: ")


def test_a_campaign_keeps_studies(tmp_path):
    engine = Counting()
    arguments = {"engine": engine, "campaign": tmp_path / "campaign", **SHORT}
    reproduce("thesis-remedies", **arguments)
    whole = reproduce(NAMES, **arguments)
    assert reproduce(NAMES, **arguments).to_json() == whole.to_json()
    reproduce("thesis-remedies", **arguments, seed=3)
    assert engine.counts == [1, 1, 0, 1] and len(kept(tmp_path / "campaign")) == 3
    # One whose files have changed is computed again.
    shutil.copytree(STUDIES / "thesis-remedies", tmp_path / "thesis-remedies")
    with (tmp_path / "thesis-remedies/README.md").open("a") as readme:
        readme.write("More.\n")
    reproduce("thesis-remedies", **arguments | {"directory": tmp_path})
    assert engine.counts.pop() == 1


def test_a_study_that_fails_is_told_and_the_others_are_kept(tmp_path):
    class Failing:
        """Cannot do the first."""

        def map(self, function, every):
            return [Failed(0, "no room"), *map(function, every[1:])]

    with pytest.raises(Error, match="^1 of 2 batches failed:\nthesis-wimax: no room$"):
        reproduce(NAMES, **SHORT, engine=Failing(), campaign=tmp_path)
    assert len(kept(tmp_path)) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"studies": "nobody"}, '^studies: found "nobody"; allowed: thesis-tables, '),
        ({"studies": []}, "^studies: found none; allowed: thesis-tables, "),
        ({"seed": -1}, "^seed: found -1; allowed: 0 to 18446744073709551615$"),
        ({"repetitions": 0}, "^repetitions: found 0; allowed: 1 to 10000$"),
        ({"seed_blocks": 101}, "^seed_blocks: found 101; allowed: 0 to 100$"),
        ({"directory": "nowhere"}, "^nowhere/thesis-remedies/study.toml: "),
        ({"threads": 0}, "^threads: found 0; allowed: 1 to 1024$"),
        ({"threads": 2, "engine": map}, "^threads: found an engine beside it; allowed: one of the two$"),
        ({"engine": 7}, r"^engine: found 7; allowed: what has map\(function, batches\)$"),
    ],
)
def test_wrong_arguments_are_refused(arguments, told):
    with pytest.raises(Error, match=told):
        reproduce(**({"studies": "thesis-remedies"} | SHORT | arguments))


def test_a_page_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(Error, match="^writing .*: "):
        reproduce("thesis-remedies", **SHORT).write(tmp_path / "none" / "page.html")


def test_ctrl_c_ends_it():
    assert ends_by_ctrl_c(f"kirikae.reproduce('handover', repetitions=10000, directory={str(STUDIES)!r})")
