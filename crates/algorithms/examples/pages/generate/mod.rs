//! The files of `docs/algorithms/`: a page and a plot for each algorithm, and an index.
//!
//! Whatever they say is taken from the C and from the portraits, so that nothing is written twice.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use kirikae_algorithms::Algorithm;
use kirikae_algorithms::portrait::{RTT_US, SEGMENTS_PER_S};

mod plot;

/// What writes the files.
pub const COMMAND: &str = "cargo run -p kirikae-algorithms --example pages";

/// Where the files are.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms")
}

/// The files and what is in them.
pub fn files() -> BTreeMap<String, String> {
    let mut files = BTreeMap::from([("README.md".into(), index())]);
    for algorithm in Algorithm::all() {
        files.insert(format!("{}.md", file_name(algorithm)), page(algorithm));
        files.insert(format!("{}.svg", file_name(algorithm)), plot::svg(algorithm));
    }
    files
}

fn file_name(algorithm: Algorithm) -> &'static str {
    algorithm.name().strip_prefix("kk_").expect("names begin with kk_")
}

fn index() -> String {
    let mut rows = String::new();
    for algorithm in Algorithm::all() {
        let (name, page) = (algorithm.name(), file_name(algorithm));
        let (good_at, source) = (algorithm.good_at(), algorithm.source());
        writeln!(rows, "| [{name}]({page}.md) | {good_at} | {source} |").unwrap();
    }
    let path_holds = plot::holds(RTT_US);
    format!(
        "# The algorithms

| name | good at | source |
|---|---|---|
{rows}
These pages are generated from the C files and from a run of each algorithm. Nobody edits them;
after a change of an algorithm they are written anew, and a test compares them:

```sh
{COMMAND}
```

## How to read the plots

They show a fluid model, not a network (`crates/algorithms/src/portrait.rs`). Its path delivers
{SEGMENTS_PER_S} segments a second with an RTT of {} ms, so it holds {path_holds}; what a window has
beyond that waits in a queue that never drops. A dot is the window at the end of a round trip. Segments
are lost where that is marked and nowhere else: in *isolated loss* one, which fast retransmission
repairs, in *burst loss* all in flight, so that the retransmission timer expires. Nothing is paced.

Slow start has a logarithmic scale and is drawn for {} s at most. The other scenes begin in congestion
avoidance, except for the BBRs, which begin with Startup all the same. Each plot has a scale of its own.
",
        RTT_US / 1000,
        plot::SLOW_START_MAX_S
    )
}

fn page(algorithm: Algorithm) -> String {
    let (name, file, good_at) = (algorithm.name(), file_name(algorithm), algorithm.good_at());
    let header = header(file);
    let (summary, details) = header.split_once("\n\n").expect("a summary comes first");
    let mut page = format!(
        "<!-- Generated: {COMMAND} -->
# {name}

{summary}

**Good at:** {good_at}.

![The window of {name} over time, in five scenes]({file}.svg)

[How to read the plots](README.md#how-to-read-the-plots).

"
    );
    if algorithm.controls_alone() {
        page += "**Beware:** there is no pacing in the model. This algorithm paces what it sends: the plot shows its
window, which is the least of it, and often a larger one than on a
real path.\n\n";
    }
    write!(page, "{details}\n\n").unwrap();
    if algorithm.parameters().len() > 0 {
        write!(
            page,
            "**Parameters** (`kirikae-lab bench --set {name}.PARAMETER=VALUE`, and `kirikae run --set` for what the
switcher chooses among):

| name | preset | lowest | highest | what it is |
|---|---|---|---|---|
"
        )
        .unwrap();
        for parameter in algorithm.parameters() {
            let (preset, what) = (parameter.preset, parameter.what);
            let (name, lowest, highest) = (parameter.name, parameter.lowest, parameter.highest);
            writeln!(page, "| `{name}` | {preset} | {lowest} | {highest} | {what} |").unwrap();
        }
        page.push('\n');
    }
    writeln!(page, "Code: [{file}.bpf.c](../../bpf/algorithms/{file}.bpf.c)").unwrap();
    page
}

/// The comment at the head of the C file, as Markdown.
fn header(file: &str) -> String {
    let path = directory().join(format!("../../bpf/algorithms/{file}.bpf.c"));
    let code = fs::read_to_string(path).expect("the C file has the algorithm's name");
    let (_, comment) = code.split_once("\n/*\n").expect("a comment follows the licence");
    let (comment, _) = comment.split_once("\n */\n").expect("a comment ends");
    let mut lines = Vec::new();
    for line in comment.lines() {
        let line = line.strip_prefix(" *").expect("a line of a comment");
        let line = line.strip_prefix(' ').unwrap_or(line);
        if line.starts_with("Deliberate differences") {
            // A list that does not begin with 1 would not end the paragraph.
            lines.push(format!("**{line}**\n"));
        } else {
            lines.push(line.to_owned());
        }
    }
    let mut text = lines.join("\n");
    for lead in ["Source:", "Switched in mid-flight"] {
        assert!(text.contains(lead), "{file}.bpf.c does not say: {lead}");
        text = text.replace(lead, &format!("**{lead}**"));
    }
    text
}
