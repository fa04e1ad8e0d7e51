//! Which sources determine simulated results, in groups of which a result depends on some.

/// Sources that change together, as far as a result is concerned.
pub struct Group {
    /// What headers call it: a word.
    pub name: &'static str,
    /// Files and directories, from the root of the repository; each has to be there.
    pub of: &'static [&'static str],
    /// What of them does not count: paths, or endings of names behind a `*`. These may be missing.
    pub without: &'static [&'static str],
}

/// Every group. A new crate or directory that results depend on is named here.
pub const GROUPS: &[Group] = &[
    Group {
        name: "algorithms",
        of: &[
            "bpf/algorithms",
            "bpf/connection",
            "bpf/kernel",
            "bpf/stock",
            "crates/algorithms/src",
        ],
        // What is not simulated, and what is of the switcher: that in whose memory there is something of
        // an algorithm's beside its own changes nothing of the algorithm.
        without: &[
            "bpf/connection/connection.h",
            "bpf/kernel/sock_ops.h",
            "crates/algorithms/src/drive",
            "crates/algorithms/src/portrait.rs",
            "crates/algorithms/src/switcher",
        ],
    },
    Group {
        name: "simulator",
        of: &["crates/path/src", "crates/sim/src", "crates/tcp/src"],
        without: &[],
    },
    Group {
        name: "switcher",
        of: &[
            "bpf/arithmetic",
            "bpf/connection/connection.h",
            "bpf/interface",
            "bpf/kernel/sock_ops.h",
            "bpf/switcher/core",
            "bpf/thesis",
            "crates/algorithms/native.c",
            "crates/algorithms/native_host.h",
            "crates/algorithms/src/switcher",
            "crates/policy/src",
        ],
        // What only people see is not simulated.
        without: &["bpf/interface/listed.h"],
    },
    // How a latency table is measured. Its connections never switch: of the switcher only what counts
    // losses and sets timeouts matters. (What calls it chooses besides; that it still calls it as
    // before, the places show that a test measures again.)
    Group {
        name: "measuring",
        of: &[
            "bpf/switcher/core/estimator.h",
            "bpf/switcher/core/loss_runs.h",
            "bpf/switcher/core/timeout_options.h",
            "bpf/switcher/core/timeouts.h",
            "crates/lab/src/characterize",
            "crates/lab/src/statistics.rs",
            "crates/table/src/grid.rs",
            "crates/table/src/latency_table.rs",
        ],
        without: &[
            "crates/lab/src/characterize/journal.rs",
            "crates/lab/src/characterize/records.rs",
        ],
    },
    // How scenarios are read, played and summed up.
    Group {
        name: "laboratory",
        of: &[
            "crates/lab/src/bound.rs",
            "crates/lab/src/contest.rs",
            "crates/lab/src/outcome.rs",
            "crates/lab/src/play.rs",
            "crates/lab/src/scenario",
            "crates/lab/src/sim",
            "crates/lab/src/statistics.rs",
            "crates/lab/src/summary",
            "crates/settings/src",
        ],
        without: &[
            "crates/lab/src/sim/files.rs",
            "crates/lab/src/sim/packet_capture.rs",
            "crates/lab/src/sim/plot.rs",
            "crates/lab/src/sim/series.rs",
            "crates/lab/src/sim/trace.rs",
        ],
    },
    Group {
        name: "search",
        of: &["crates/lab/src/search"],
        without: &["crates/lab/src/search/report.rs"],
    },
    // How spans are compared.
    Group {
        name: "guard",
        of: &["bpf/interface/span_sums.h", "bpf/switcher/core/comparison.h", "crates/guard/src"],
        without: &[],
    },
    Group {
        name: "studies",
        of: &["crates/lab/src/reproduce"],
        without: &[
            "crates/lab/src/reproduce/drawing.rs",
            "crates/lab/src/reproduce/page.css",
            "crates/lab/src/reproduce/page.rs",
            "crates/lab/src/reproduce/text.rs",
        ],
    },
    // What the switcher chooses by: figures and limits.
    Group {
        name: "tables",
        of: &[
            "crates/table/src",
            "tables/default.csv",
            "tables/friendliness.csv",
            "tables/oguchi-2016",
        ],
        without: &[],
    },
];
