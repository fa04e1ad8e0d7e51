//! The list of what is generated, and from what.

use anyhow::Context;
use kirikae_provenance::{Inputs, digest};

use crate::places::{Remade, Remake};
use crate::{Target, drawn, friendliness, guard, policies, regret, root, studies, table};

/// What makes some targets in one go.
pub struct Step {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it writes.
    pub targets: &'static [Target],
    /// The groups of sources that determine what that is.
    pub groups: &'static [&'static str],
    /// Scenarios and other files that it reads, from the root of the repository.
    pub data: &'static [&'static str],
    /// Makes the text of each target; none where a program of its own has written it already.
    pub make: fn() -> anyhow::Result<Vec<Option<String>>>,
    /// What makes seeded places of the first target again.
    pub places: Remake,
}

/// Everything, in the order in which it is made: later steps read what earlier ones wrote. The first
/// [`TABLES`] write what is compiled into this program.
pub const STEPS: &[Step] = &[
    Step {
        name: "table",
        targets: &[Target::Table("tables/default.csv"), Target::Block("docs/tables.md", "table")],
        groups: &["algorithms", "simulator", "measuring"],
        data: &[],
        make: table::make,
        places: table::places,
    },
    Step {
        name: "friendliness",
        targets: &[Target::File("tables/friendliness.csv")],
        groups: &["algorithms", "simulator", "laboratory"],
        data: friendliness::SCENARIOS,
        make: friendliness::make,
        places: friendliness::places,
    },
    Step {
        name: "limits",
        targets: &[
            Target::Block("docs/friendliness.md", "allowed"),
            Target::Block("docs/friendliness.md", "kept"),
            Target::Block("docs/friendliness.md", "alike"),
        ],
        groups: &["tables"],
        data: &[],
        make: friendliness::pages,
        places: friendliness::page_places,
    },
    Step {
        name: "policies",
        targets: &[
            Target::Block("docs/friendliness.md", "beside-bulk"),
            Target::Block("docs/friendliness.md", "bulk"),
            Target::Block("docs/friendliness.md", "bulk-alike"),
            Target::Block("docs/friendliness.md", "alone"),
        ],
        groups: SWITCHED,
        data: policies::SCENARIOS,
        make: policies::make,
        places: policies::places,
    },
    Step {
        name: "search",
        targets: &[
            Target::File("scenarios/found/drawn.csv"),
            Target::Block("docs/search.md", "search"),
        ],
        groups: &["algorithms", "simulator", "switcher", "laboratory", "tables", "search"],
        data: &[],
        make: drawn::make,
        places: drawn::places,
    },
    Step {
        name: "guard",
        targets: &[Target::File("docs/guard/hosts.csv"), Target::Block("docs/guard.md", "hosts")],
        groups: &["algorithms", "simulator", "laboratory", "search", "guard"],
        data: &[],
        make: guard::make,
        places: guard::places,
    },
    Step {
        name: "regret",
        targets: &[
            Target::File("scenarios/held-out/regret.csv"),
            Target::Block("docs/regret.md", "steady"),
            Target::Block("docs/regret.md", "changing"),
        ],
        groups: SWITCHED,
        data: regret::SCENARIOS,
        make: regret::make,
        places: regret::places,
    },
    Step {
        name: "studies",
        targets: &[
            Target::Block("docs/studies.md", "criteria"),
            Target::Block("docs/papers.md", "claims"),
        ],
        groups: &["algorithms", "simulator", "switcher", "laboratory", "tables", "studies"],
        data: studies::DATA,
        make: studies::make,
        places: studies::places,
    },
];

/// How many of [`STEPS`] write what is compiled into this program.
pub const TABLES: usize = 2;

/// What determines what a switched connection does in a scenario.
const SWITCHED: &[&str] = &["algorithms", "simulator", "switcher", "laboratory", "tables"];

/// What a target was made from is not what there is now.
#[derive(Debug)]
pub struct Stale {
    /// What is stale.
    pub target: Target,
    /// What differs, such as `simulator 12, now 13`.
    pub differences: Vec<String>,
}

impl Step {
    /// What its targets would be made from now: the sources that this program was built of, and the
    /// data that are there.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn inputs(&self) -> anyhow::Result<Inputs> {
        let inputs = Inputs::built(self.groups);
        if self.data.is_empty() {
            return Ok(inputs);
        }
        let digest = digest(&root(), self.data, &[]).map_err(anyhow::Error::msg)?;
        Ok(inputs.and("scenarios", digest))
    }

    /// Those of its targets that were made from something else.
    ///
    /// # Errors
    /// A target that is not there, or does not say what it was made from.
    pub fn stale(&self) -> anyhow::Result<Vec<Stale>> {
        let now = self.inputs()?;
        let mut stale = Vec::new();
        for &target in self.targets {
            let differences = target.read(&root())?.1.differences(&now);
            if !differences.is_empty() {
                stale.push(Stale { target, differences });
            }
        }
        Ok(stale)
    }

    /// Makes its targets and writes them.
    ///
    /// # Errors
    /// What went wrong on the way; nothing is written then.
    pub fn run(&self) -> anyhow::Result<()> {
        let inputs = self.inputs()?;
        let made = (self.make)()?;
        for (target, text) in self.targets.iter().zip(made) {
            if let Some(text) = text {
                target.write(&root(), &text, &self.command(), &inputs)?;
            }
        }
        Ok(())
    }

    /// Makes seeded places of its first target again; other ones with each change of what it is made from.
    ///
    /// # Errors
    /// A target that cannot be read, or a place that cannot be made.
    pub fn places(&self) -> anyhow::Result<Vec<Remade>> {
        let (text, _) = self.targets[0].read(&root())?;
        (self.places)(self.inputs()?.seed(), &text).with_context(|| self.name)
    }

    /// What people call to make it.
    pub fn command(&self) -> String {
        format!("make regenerate STEPS={}", self.name)
    }
}
