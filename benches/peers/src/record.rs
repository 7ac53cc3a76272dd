//! A record: what was measured, and on what. A file of rows as CSV, under a header of
//! `# key: value` lines.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Failure;

/// One candidate at one length. Times are per message.
#[derive(Clone, Serialize, Deserialize)]
pub struct Row {
    /// The job's name.
    pub job: String,
    /// What exactly was done.
    pub variant: String,
    /// Who did it.
    pub peer: String,
    /// The length of a message in bytes.
    pub length: usize,
    /// Core cycles in the best slice, where the core's clock is known.
    pub min_cycles: Option<f64>,
    /// Core cycles in the median slice.
    pub median_cycles: Option<f64>,
    /// Nanoseconds in the best slice.
    pub min_ns: f64,
    /// Nanoseconds in the median slice.
    pub median_ns: f64,
    /// How many calls made up a slice.
    pub calls_per_slice: u64,
}

/// The lines of the header by their keys.
pub type Header = BTreeMap<String, String>;

/// A header and its rows.
pub struct Record {
    /// The machine, the tools, the versions, the plan.
    pub header: Header,
    /// The results, in the order in which they were measured.
    pub rows: Vec<Row>,
}

impl Record {
    /// Reads a record back.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let header = text
            .lines()
            .filter_map(|line| line.strip_prefix("# ")?.split_once(": "))
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        let rows = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .from_reader(text.as_bytes())
            .into_deserialize()
            .collect::<Result<_, _>>()?;
        Ok(Self { header, rows })
    }

    /// Writes the record into `folder` under a name that no file has yet, and returns that name.
    pub fn write(&self, folder: &Path, name: &str) -> Result<PathBuf, Failure> {
        fs::create_dir_all(folder)?;
        let (path, mut file) = create_new(folder, name)?;
        for (key, value) in &self.header {
            writeln!(file, "# {key}: {value}")?;
        }
        let mut writer = csv::Writer::from_writer(file);
        for row in &self.rows {
            writer.serialize(row.rounded())?;
        }
        writer.flush()?;
        Ok(path)
    }
}

impl Row {
    /// What the row is about: all columns but the results.
    pub fn place(&self) -> (&str, &str, usize) {
        (&self.job, &self.variant, self.length)
    }

    /// The same with two digits after the point, more than the noise leaves.
    fn rounded(&self) -> Self {
        let round = |value: f64| (value * 100.0).round() / 100.0;
        Self {
            min_cycles: self.min_cycles.map(round),
            median_cycles: self.median_cycles.map(round),
            min_ns: round(self.min_ns),
            median_ns: round(self.median_ns),
            ..self.clone()
        }
    }
}

/// Creates `NAME.csv`, or `NAME-2.csv` and so on if there is one already.
fn create_new(folder: &Path, name: &str) -> Result<(PathBuf, File), Failure> {
    for number in 1.. {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{name}{suffix}.csv"));
        match File::create_new(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
    unreachable!("the numbers do not end")
}
