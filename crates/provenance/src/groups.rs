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
        // an algorithm's beside its own changes nothing of the algorithm. Nor does how those of others are
        // loaded.
        without: &[
            "bpf/connection/connection.h",
            "bpf/kernel/sock_ops.h",
            "crates/algorithms/src/algorithm/out_of_tree.rs",
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
        // What only people see is not simulated, nor what only the kernel plays.
        without: &["bpf/interface/listed.h", "bpf/thesis/switcher.bpf.c"],
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
            "crates/simlab/src/characterize",
            "crates/results/src/statistics.rs",
            "crates/table/src/grid.rs",
            "crates/table/src/latency_table.rs",
        ],
        without: &["crates/simlab/src/characterize/records.rs"],
    },
    // How scenarios are read, played and summed up.
    Group {
        name: "laboratory",
        of: &[
            "crates/results/src/bound.rs",
            "crates/results/src/contest.rs",
            "crates/results/src/outcome.rs",
            "crates/results/src/play.rs",
            "crates/scenario/src",
            "crates/simlab/src/sim",
            "crates/results/src/statistics.rs",
            "crates/results/src/summary",
            "crates/settings/src",
        ],
        without: &[
            "crates/simlab/src/sim/files.rs",
            "crates/simlab/src/sim/packet_capture.rs",
            "crates/simlab/src/sim/plot.rs",
            "crates/simlab/src/sim/series.rs",
            "crates/simlab/src/sim/trace.rs",
        ],
    },
    Group {
        name: "search",
        of: &["crates/simlab/src/search"],
        without: &["crates/simlab/src/search/report.rs"],
    },
    // How spans are compared.
    Group {
        name: "guard",
        of: &["bpf/interface/span_sums.h", "bpf/switcher/core/comparison.h", "crates/guard/src"],
        without: &[],
    },
    Group {
        name: "studies",
        of: &["crates/studies/src"],
        without: &[
            "crates/studies/src/drawing.rs",
            "crates/studies/src/page.css",
            "crates/studies/src/page.rs",
            "crates/studies/src/readme.rs",
            "crates/studies/src/text.rs",
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
