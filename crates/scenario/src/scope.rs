//! Reads `[scope]`: the settings for the connections that are switched, with the keys of the policy file
//! (packaging/kirikae.toml). Without it the settings are those that hold if an operator says nothing.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use kirikae_policy::{Latencies, Scope, read_scope_of_all};
use kirikae_settings::Refusal;
use kirikae_settings::section::Section;
use kirikae_table::KernelTable;
use serde::{Serialize, Serializer};

use super::Scenario;

/// The keys that say what may be chosen.
const CHOICE: [&str; 2] = ["friendliness", "algorithms"];

impl Scenario {
    /// The table that ships, with the usual friendliness.
    pub fn usual_table() -> &'static Arc<KernelTable> {
        static USUAL: LazyLock<Arc<KernelTable>> =
            LazyLock::new(|| kirikae_table::usual().kernel_table().into());
        &USUAL
    }
}

/// Reads the scope. If it says what may be chosen, the second part is the refusal of a command line that says
/// so, too.
pub(super) fn read(root: &Section) -> Result<(Scope, Option<Refusal>), Refusal> {
    let Some(field) = root.optional("scope") else {
        return Ok((Scope::new(Arc::clone(Scenario::usual_table())), None));
    };
    let section = field.section("[scope] with keys of a [[scope]] in a policy file")?;
    let choice = CHOICE.iter().find_map(|key| section.optional(key)).map(|field| {
        field.refuse("none beside --table or --friendliness, which say what may be chosen, too")
    });
    let latencies = Latencies { table: Cow::Borrowed(kirikae_table::shipped()), is_given: false };
    let mut scope = read_scope_of_all(&section, &latencies)?;
    if choice.is_none() {
        scope.table = Arc::clone(Scenario::usual_table());
    }
    Ok((scope, choice))
}

/// Writes the settings of a scope, for people.
pub(super) fn write<S: Serializer>(scope: &Scope, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Said {
        name: String,
        algorithms: Vec<String>,
        unusual: Vec<String>,
    }
    let Scope { name, table, .. } = scope;
    Said { name: name.clone(), algorithms: table.names(), unusual: scope.unusual() }
        .serialize(serializer)
}
