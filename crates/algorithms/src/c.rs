//! Declarations of the C, made by bindgen from the headers.
#![allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    dead_code,
    clippy::all
)]

pub use kirikae_interface::*;

include!(concat!(env!("OUT_DIR"), "/c.rs"));
