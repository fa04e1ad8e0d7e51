//! The laboratory in virtual time: simulations of scenarios, the search for paths on which the switcher
//! loses, and latency tables. It needs neither root nor BPF.

pub mod characterize;
pub mod search;
pub mod shards;
pub mod sim;
