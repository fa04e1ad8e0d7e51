#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which part of Kirikae's gain is idle keep, which is the timer, and which is switching.

Run as root: python3 docs/kernel/ablation.py [DIRECTORY] [--simulate] [--json FILE] [--path TEXT]

DIRECTORY (target/release) has kirikae-lab. On sixteen paths, eight that stay as they are (docs/measurements.md) and
eight that change (scenarios/held-out/changing), `kirikae-lab bench` plays in one run, over paths of the same seed

- stock cubic and bbr, and each fixed algorithm that the switcher may choose;
- kirikae as it is preset;
- each part alone: idle keep (kk_cubic, fixed), the timer (kk_cubic without idle keep, under the agent's timers),
  switching (without idle keep, with the kernel's timers);
- all parts but one.

Printed are mean latencies over stock cubic's, kirikae's over the best fixed algorithm, and what the fixed one
without any of it takes. --simulate asks `kirikae-lab sim` instead. --path plays those paths alone whose file has the
text in its name, --json writes all figures.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STAYS = ["long-clean", "long-isolated-0.1", "long-isolated-1", "long-isolated-3", "long-bursts", "shallow",
         "shallow-isolated-0.5", "short-isolated-1"]
CHANGES = ["fading-comes-and-goes", "loss-comes-and-goes", "loss-levels", "queue-fills", "rate-ladder", "train",
           "neighbour"]
# A path that changes is played for four minutes.
BURSTS = 120
FIXED = ["kk_cubic", "kk_hybla", "kk_scalable", "kk_westwood", "kk_bbr", "kk_bbr3"]
BASE = ["cubic", "bbr", *FIXED, "kirikae"]
# What [scope] says where a part is left out.
NO_IDLE_KEEP = "idle-keep = false\n"
NO_TIMER = 'timeouts = "kernel"\n'
NO_SWITCHING = 'algorithms = ["kk_cubic"]\n'
VARIANTS = {
    "timer alone": NO_IDLE_KEEP + NO_SWITCHING,
    "switching alone": NO_IDLE_KEEP + NO_TIMER,
    "all but idle keep": NO_IDLE_KEEP,
    "all but the timer": NO_TIMER,
    "all but switching": NO_SWITCHING,
}
# Between a scenario's title and the variant.
BEHIND = " / "


def without_section(text, name):
    """A scenario without a section that has no sections of its own."""
    return re.sub(rf"^\[{name}\].*?(?=^\[|\Z)", "", text, flags=re.M | re.S)


def written(directory, file, variant, scope):
    """A copy of a scenario for one part, or for everybody where there is none."""
    text = without_section(without_section(file.read_text(), "bench"), "scope")
    contenders = json.dumps(["kirikae"] if variant else BASE)
    if variant:
        # No two scenarios of a run have the same title.
        text = re.sub(r'^(title = ".*)"$', rf'\1{BEHIND}{variant}"', text, flags=re.M)
    text = re.sub(r"^count = (\d+)", lambda it: f"count = {min(int(it[1]), BURSTS)}", text, flags=re.M)
    copy = directory / f"{file.stem}{'-' + variant.replace(' ', '-') if variant else ''}.toml"
    copy.write_text(f"{text}\n[bench]\ncontenders = {contenders}\n[scope]\n{scope}")
    return copy


def played(program, files, simulate):
    """The summary of all scenarios in one run, by file and title."""
    command = [program, "sim" if simulate else "bench", "--json", *files]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if run.returncode:
        sys.exit(f"kirikae-lab {command[1]} ended with status {run.returncode}")
    return json.loads(run.stdout)["scenarios"]


def means(scenario):
    """Mean latency of each contender, and whether its path behaved as described."""
    return {it["contender"]: it for it in scenario["contenders"]}


def parts(base, others):
    """The figures of a path: seconds, with stock cubic's first."""
    contenders = means(base)
    seconds = {name: it["mean_s"]["value"] for name, it in contenders.items()}
    row = {"path": base["title"], "n": contenders["cubic"]["n"], **{name: seconds[name] for name in BASE}}
    row["best fixed"] = min(FIXED, key=seconds.get)
    row["over best fixed"] = contenders["kirikae"]["over_best_fixed"]
    row["held"] = all(it["held"] for it in contenders.values())
    row["idle keep alone"] = seconds["kk_cubic"]
    for variant, scenario in others.items():
        own = means(scenario)["kirikae"]
        row[variant] = own["mean_s"]["value"]
        row["held"] &= own["held"]
    return row


def printed(rows):
    """A table of Markdown: shares of stock cubic's latency."""
    columns = ["idle keep alone", *VARIANTS]
    heading = ["path", "n", "cubic, s", "bbr", *columns, "all", "over the best fixed"]
    print("| " + " | ".join(heading) + " |\n|" + "---|" * len(heading))
    for row in rows:
        shares = [f"{row[name] / row['cubic']:.2f}" for name in ["bbr", *columns, "kirikae"]]
        over = row["over best fixed"]
        best = f"{over['value']:.3f} ± {over['half_width'] or 0:.3f} ({row['best fixed']})"
        held = "" if row["held"] else " (not held)"
        cells = [row["path"] + held, str(row["n"]), f"{row['cubic']:.3f}", *shares, best]
        print("| " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", type=Path, default=ROOT / "target/release")
    parser.add_argument("--simulate", action="store_true", help="ask kirikae-lab sim, without root")
    parser.add_argument("--path", default="", help="play those paths alone whose file has this in its name")
    parser.add_argument("--json", type=Path, help="write all figures into this file")
    arguments = parser.parse_args()
    files = [ROOT / f"scenarios/{name}.toml" for name in STAYS]
    files += [ROOT / f"scenarios/held-out/changing/{name}.toml" for name in CHANGES]
    files = [file for file in files if arguments.path in file.stem]
    if not files:
        sys.exit(f"no path has {arguments.path} in its name")
    with tempfile.TemporaryDirectory() as directory:
        copies = {}
        for file in files:
            for variant, scope in [("", ""), *VARIANTS.items()]:
                copies[written(Path(directory), file, variant, scope)] = (file.stem, variant)
        summary = played(arguments.directory / "kirikae-lab", list(copies), arguments.simulate)
    by_place = {}
    for scenario in summary:
        stem, variant = copies[Path(scenario["file"])]
        by_place.setdefault((stem, scenario["title"].removesuffix(BEHIND + variant)), {})[variant] = scenario
    rows = [parts(own.pop(""), own) for own in by_place.values()]
    printed(rows)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
