//! Algorithms from outside of this tree: one file of C each, as those in `bpf/algorithms/`, compiled natively by the
//! system's compiler and loaded into this process, to be simulated beside ours.
//!
//! What a file may include is what this program was built with, so that both know the same structs.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char};
use std::fmt;
use std::path::Path;
use std::process::Command;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::{Algorithm, Registration};
use crate::c;
use crate::drive::{RECORD, decode, play_decoded};

/// What a file may include, by its path: the headers of `bpf/`.
static HEADERS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// How a file is called, after a name.
const SUFFIX: &str = ".bpf.c";
/// The kernel's TCP_CA_NAME_MAX, without the zero at the end.
const NAME_MAX: usize = 15;
/// So many lines of the compiler's complaints are told.
const TOLD: usize = 20;
/// So many sequences of at most this many operations are played for a check.
const SEQUENCES: u64 = 512;
const OPERATIONS: usize = 200;

/// Why an algorithm from outside is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

fn refused<T>(what: impl fmt::Display, told: impl fmt::Display) -> Result<T, Refused> {
    Err(Refused(format!("{what}: {told}")))
}

/// An algorithm as native code, which may travel to another process of the same build.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Compiled {
    /// In-kernel name, `kk_...`.
    pub name: String,
    /// The shared object, which has its registration and what is told of it.
    pub object: Vec<u8>,
    /// Whether it keeps more than fits the private area (`bpf/algorithms/common/large_state.h`).
    pub has_large_state: bool,
}

/// How C that leaves something undefined is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undefined {
    /// As fast as it goes.
    Unchecked,
    /// What it leaves undefined ends the process.
    Traps,
}

/// Compiles `NAME.bpf.c`, whose registration is `ALGORITHM(NAME)`, with as many warnings as ours, each an error.
/// CC says by which compiler; `cc` without it.
///
/// # Errors
/// Fails where the file is called otherwise or cannot be read, where there is no compiler, and with what the
/// compiler has to say.
pub fn compile(source: &Path, undefined: Undefined) -> Result<Compiled, Refused> {
    let file = &source.display();
    let name = name_of(source)?;
    let text = std::fs::read_to_string(source).or_else(|error| refused(file, error))?;
    let failed =
        |error: std::io::Error| Refused(format!("compiling {}: {error}", source.display()));
    let room = tempfile::tempdir().map_err(failed)?;
    for (path, text) in HEADERS {
        let path = room.path().join(path);
        let folder = path.parent().expect("it is in the room");
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(failed)?;
    }
    let object = room.path().join("object.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| String::from("cc"));
    // There may be arguments, or a program by which it is run.
    let mut words = compiler.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    // Nothing is missing at run time, and nothing in the object depends on where it was made.
    command.args(["-shared", "-fPIC", "-O2", "-Wl,-z,defs", "-Wl,-s"]);
    command.args(["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]);
    if undefined == Undefined::Traps {
        command.args(["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]);
    }
    command.arg("-I").arg(room.path()).arg("-o").arg(&object).arg(source);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            return refused(
                file,
                format_args!("running {compiler}: {error}; allowed: a C compiler as cc, or in CC"),
            );
        }
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().take(TOLD).collect();
        return refused(file, format_args!("the compiler refuses it:\n{}", said.join("\n")));
    }
    let object = std::fs::read(object).map_err(failed)?;
    Ok(Compiled { name, object, has_large_state: text.contains("large_state_drop(") })
}

/// The in-kernel name of the algorithm of a file.
fn name_of(source: &Path) -> Result<String, Refused> {
    let file = source.file_name().map(|file| file.to_string_lossy().into_owned());
    let stem = file.as_deref().and_then(|file| file.strip_suffix(SUFFIX)).unwrap_or_default();
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let most = NAME_MAX - "kk_".len();
    if stem.is_empty() || stem.len() > most || !stem.bytes().all(is_word) {
        return refused(
            source.display(),
            format_args!(
                "the file's name; allowed: NAME{SUFFIX}, NAME of up to {most} of a-z, 0-9 and _"
            ),
        );
    }
    let name = format!("kk_{stem}");
    let ours: Vec<_> = Algorithm::all().chain(Algorithm::of_the_thesis()).collect();
    if ours.iter().any(|algorithm| algorithm.name() == name) {
        return refused(
            source.display(),
            format_args!("{name} is one of ours; allowed: a name that no other has"),
        );
    }
    Ok(name)
}

/// Loads an algorithm into this process, for good. Whoever calls this vouches for its code, as for any that is compiled
/// into a program: that [`compile`] made it, in a process of this build.
///
/// # Errors
/// Fails where the object is of another machine, or of another file than it says, and where its registration lacks
/// what each has to have.
pub fn load(compiled: &Compiled) -> Result<Algorithm, Refused> {
    let Compiled { name, object, has_large_state } = compiled;
    let failed = |error: &dyn fmt::Display| Refused(format!("loading {name}: {error}"));
    let room = tempfile::tempdir().map_err(|error| failed(&error))?;
    // The file is not needed once it is loaded.
    let file = room.path().join("object.so");
    std::fs::write(&file, object).map_err(|error| failed(&error))?;
    // SAFETY: the caller vouches for its code; C without constructors does nothing when it is loaded.
    let library = unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_LOCAL) };
    let library = Box::leak(Box::new(library.map_err(|error| failed(&error))?));
    // SAFETY: both are constants of the types that the headers of this build say; they stay for good.
    let registered = unsafe { (found(library, name), found(library, &format!("{name}_about"))) };
    let (Some(ops), Some(about)) = registered else {
        let variable = name.trim_start_matches("kk_");
        return refused(
            name,
            format_args!(
                "no registration of this name; allowed: ALGORITHM({variable}) and ABOUT({variable}, ...), \
                 or ABOUT_WITH_PARAMETERS"
            ),
        );
    };
    is_whole(name, ops, about)?;
    let registration = Registration {
        name: name.clone().leak(),
        ops: &raw const *ops,
        about: &raw const *about,
        has_large_state: *has_large_state,
    };
    Ok(Algorithm::preset(Box::leak(Box::new(registration))))
}

/// A constant of a library.
///
/// # Safety
/// It is of this type.
unsafe fn found<T>(library: &'static Library, name: &str) -> Option<&'static T> {
    // SAFETY: the caller says so.
    let found: Option<*const T> = unsafe { library.get(name.as_bytes()) }.ok().map(|it| *it);
    // SAFETY: as above; the library is never closed.
    found.and_then(|found| unsafe { found.as_ref() })
}

/// Refuses a registration that lacks what the kernel asks of one, or what is said of ours.
fn is_whole(name: &str, ops: &c::tcp_congestion_ops, about: &c::about) -> Result<(), Refused> {
    // SAFETY: the compiler has filled the array with zeros at its end, or else the last is none.
    let registered =
        unsafe { std::slice::from_raw_parts(ops.name.as_ptr().cast(), ops.name.len()) };
    if CStr::from_bytes_until_nul(registered).map(CStr::to_bytes) != Ok(name.as_bytes()) {
        return refused(name, format_args!("its .name is another; allowed: {name:?}"));
    }
    if ops.ssthresh.is_none() || ops.undo_cwnd.is_none() {
        return refused(name, "found no .ssthresh or no .undo_cwnd; allowed: both");
    }
    if ops.cong_avoid.is_none() && ops.cong_control.is_none() {
        return refused(name, "found no .cong_avoid; allowed: it, or .cong_control");
    }
    let told = [about.source, about.good_at, about.state];
    if told.iter().any(|text| !is_text(*text)) {
        return refused(name, "what is told of it; allowed: three texts in ASCII");
    }
    let mut names = BTreeSet::new();
    for place in 0..about.parameters_count.min(c::PARAMETERS_MAX) as usize {
        // SAFETY: the macro describes so many in a constant array.
        let it = unsafe { &*about.parameters.add(place) };
        if !is_text(it.name) || !is_text(it.what) {
            return refused(name, "what is told of a parameter; allowed: texts in ASCII");
        }
        let parameter = super::text(it.name);
        let is_in_range = (it.lowest..=it.highest).contains(&it.preset);
        if !is_in_range || !names.insert(parameter) {
            return refused(
                name,
                format_args!(
                    "parameter {parameter}; allowed: each once, with a preset in its range"
                ),
            );
        }
    }
    Ok(())
}

fn is_text(text: *const c_char) -> bool {
    // SAFETY: where it is not null it is a text of the C code, which ends with a zero.
    !text.is_null() && unsafe { CStr::from_ptr(text) }.to_bytes().is_ascii()
}

/// Plays what a connection may meet against an algorithm, and checks what must hold for every one ([`crate::drive`]):
/// always the same sequences.
///
/// # Errors
/// Fails with what did not hold.
pub fn check(algorithm: Algorithm) -> Result<(), Refused> {
    for seed in 0..SEQUENCES {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut bytes = vec![0; RECORD * (1 + random.next_u32() as usize % OPERATIONS)];
        random.fill_bytes(&mut bytes);
        let (mut beginning, operations) = decode(&bytes);
        beginning.algorithm = algorithm;
        if let Err(broken) = play_decoded(&beginning, &operations) {
            return refused(algorithm.name(), format_args!("what must hold does not: {broken}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RENO: &str = include_str!("../../../../bpf/algorithms/reno.bpf.c");

    /// What becomes of a text in a file of this name.
    fn compiled(file: &str, text: &str) -> Result<Compiled, String> {
        let room = tempfile::tempdir().unwrap();
        let source = room.path().join(file);
        std::fs::write(&source, text).unwrap();
        compile(&source, Undefined::Unchecked).map_err(|refused| refused.to_string())
    }

    fn loaded(text: &str) -> Result<Algorithm, String> {
        load(&compiled("mine.bpf.c", text)?).map_err(|refused| refused.to_string())
    }

    fn mine() -> String {
        RENO.replace("(reno)", "(mine)")
            .replace("ABOUT_WITH_PARAMETERS(reno", "ABOUT_WITH_PARAMETERS(mine")
            .replace("\"kk_reno\"", "\"kk_mine\"")
    }

    #[test]
    fn one_that_is_as_ours_does_as_ours() {
        let algorithm = loaded(&mine()).unwrap();
        assert_eq!(algorithm.name(), "kk_mine");
        let reno = Algorithm::named("kk_reno").unwrap();
        assert!(algorithm.parameters().eq(reno.parameters()));
        assert_eq!(check(algorithm), Ok(()));
        assert!(!Algorithm::all().any(|it| it.name() == "kk_mine"), "it is none of ours");
    }

    /// An object does not depend on where it was made, so that it tells what it is.
    #[test]
    fn the_same_text_is_the_same_object() {
        assert_eq!(compiled("mine.bpf.c", &mine()), compiled("mine.bpf.c", &mine()));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let wrong = |change: [&str; 2]| loaded(&mine().replace(change[0], change[1])).unwrap_err();
        for (change, told) in [
            (["ALGORITHM(mine)", "ALGORITHM(other)"], "kk_mine: no registration of this name"),
            (["\"kk_mine\"", "\"kk_other\""], "kk_mine: its .name is another"),
            ([".undo_cwnd =", ".min_tso_segs ="], "refuses it:"),
        ] {
            let wrong = wrong(change);
            assert!(wrong.contains(told), "{wrong}");
        }
        for file in ["mine.c", ".bpf.c", "Mine.bpf.c", "much_too_long.bpf.c"] {
            let refused = compiled(file, "").unwrap_err();
            assert!(refused.contains("the file's name; allowed: NAME.bpf.c"), "{refused}");
        }
        let refused = compiled("cubic.bpf.c", "").unwrap_err();
        assert!(refused.contains("kk_cubic is one of ours"), "{refused}");
        let refused = compiled("mine.bpf.c", "#include \"nowhere.h\"\n").unwrap_err();
        assert!(refused.contains("mine.bpf.c:1:") && refused.contains("nowhere.h"), "{refused}");
    }

    /// Windows of nothing are what the kernel warns of.
    #[test]
    fn what_must_hold_is_checked() {
        let text = mine().replace("reno_half(tcp_sk(sk))", "0");
        assert_ne!(text, mine());
        let refused = check(loaded(&text).unwrap()).unwrap_err().to_string();
        assert!(refused.starts_with("kk_mine: what must hold does not: "), "{refused}");
    }
}
