//! Writes a recording to a file, and reads it: first a line that says what it is, then the version, then the
//! entries one after the other, each with its kind and length. Numbers have the machine's own byte order.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kirikae_agent::Recorded;
use kirikae_algorithms::CALL_RECORD_VERSION;
use kirikae_interface::policy;
use kirikae_results::{Error, While};
use kirikae_table::KernelTable;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

const MAGIC: &[u8] = b"Calls of kirikae's switcher\n";
const WHAT: &str = "a recording by `kirikae-lab lockstep --keep`";

/// The kinds of entries.
const POLICY: u8 = b'p';
const TABLE: u8 = b't';
const CALL: u8 = b'c';

/// A length that no entry reaches, bytes.
const LONGEST: u32 = 1 << 24;

/// Writes a recording.
pub struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Writer {
    pub fn create(path: &Path) -> Result<Writer, Error> {
        if path.exists() {
            return Err(Error::Exists(path.into()));
        }
        let file = File::create(path).of_directory(|| format!("making {}", path.display()))?;
        let mut writer = Writer { path: path.into(), file: BufWriter::new(file) };
        writer.bytes(MAGIC)?;
        writer.bytes(&CALL_RECORD_VERSION.to_ne_bytes())?;
        Ok(writer)
    }

    /// Writes an entry. The tables of a policy are written before it.
    pub fn write(&mut self, recorded: &Recorded) -> Result<(), Error> {
        match recorded {
            Recorded::Policy { policy, tables } => {
                for (number, table) in tables {
                    let entry = [number.as_bytes(), table.as_bytes()].concat();
                    self.entry(TABLE, &entry)?;
                }
                self.entry(POLICY, policy.as_bytes())
            }
            Recorded::Call(bytes) => self.entry(CALL, bytes),
        }
    }

    pub fn finish(mut self) -> Result<(), Error> {
        let path = self.path;
        self.file.flush().during(|| format!("writing {}", path.display()))
    }

    fn entry(&mut self, kind: u8, bytes: &[u8]) -> Result<(), Error> {
        self.bytes(&[kind])?;
        self.bytes(&(bytes.len() as u32).to_ne_bytes())?;
        self.bytes(bytes)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).during(|| format!("writing {}", self.path.display()))
    }
}

/// Reads a recording.
///
/// # Errors
/// Fails if the file is no recording, or of another version.
pub fn read(path: &Path) -> Result<impl Iterator<Item = Result<Recorded, Error>>, Error> {
    let file = File::open(path).of_directory(|| format!("reading {}", path.display()))?;
    let mut reader =
        Reader { path: path.into(), file: BufReader::new(file), tables: BTreeMap::new() };
    let mut magic = vec![0; MAGIC.len()];
    let mut version = [0; 4];
    let is_whole = reader.fill(&mut magic)? && reader.fill(&mut version)?;
    if !is_whole || magic != MAGIC {
        return Err(reader.refuse("another kind of file", WHAT));
    }
    let version = u32::from_ne_bytes(version);
    if version != CALL_RECORD_VERSION {
        let found = format!("a recording of version {version} of the switcher");
        return Err(reader.refuse(&found, &format!("version {CALL_RECORD_VERSION}, which this is")));
    }
    Ok(std::iter::from_fn(move || reader.next().transpose()))
}

struct Reader {
    path: PathBuf,
    file: BufReader<File>,
    /// The tables of the next policy.
    tables: BTreeMap<u32, Arc<KernelTable>>,
}

impl Reader {
    fn next(&mut self) -> Result<Option<Recorded>, Error> {
        loop {
            let mut header = [0; 5];
            if !self.fill(&mut header)? {
                return Ok(None);
            }
            let length = u32::from_ne_bytes(header[1..].try_into().expect("four bytes"));
            if length > LONGEST {
                return Err(self.refuse(&format!("an entry of {length} bytes"), WHAT));
            }
            let mut entry = vec![0; length as usize];
            if !self.fill(&mut entry)? {
                return Err(self.refuse("an entry that is cut short", "a whole recording"));
            }
            match header[0] {
                CALL => return Ok(Some(Recorded::Call(entry))),
                POLICY => {
                    let policy = policy::read_from_bytes(&entry).map(Box::new);
                    let policy =
                        policy.map_err(|_| self.refuse("a policy of another length", WHAT));
                    let tables = std::mem::take(&mut self.tables);
                    return Ok(Some(Recorded::Policy { policy: policy?, tables }));
                }
                TABLE => {
                    let (number, table) = self.table(&entry)?;
                    self.tables.insert(number, table);
                }
                other => return Err(self.refuse(&format!("an entry of kind {other}"), WHAT)),
            }
        }
    }

    fn table(&self, entry: &[u8]) -> Result<(u32, Arc<KernelTable>), Error> {
        let mut table = KernelTable::new_box_zeroed().expect("a megabyte of memory");
        let read = u32::read_from_prefix(entry).ok().filter(|(_, bytes)| {
            let is_whole = bytes.len() == size_of::<KernelTable>();
            if is_whole {
                table.as_mut_bytes().copy_from_slice(bytes);
            }
            is_whole
        });
        let (number, _) = read.ok_or_else(|| self.refuse("a table of another length", WHAT))?;
        Ok((number, table.into()))
    }

    /// Fills `bytes` from the file; returns false at its end.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<bool, Error> {
        match self.file.read_exact(bytes) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error).of_directory(|| format!("reading {}", self.path.display())),
        }
    }

    fn refuse(&self, found: &str, allowed: &str) -> Error {
        Error::Directory(format!("{}: {found}; allowed: {allowed}", self.path.display()))
    }
}
