//! The format of the text files: vectors apart by a blank line, each a list of `key = value`.

use std::collections::BTreeMap;

/// One known answer.
pub(crate) struct Vector<'a> {
    file: &'a str,
    fields: BTreeMap<String, String>,
}

/// Reads all vectors of a file.
///
/// # Panics
///
/// If a line has no `=`, or a key stands twice in a vector.
pub(crate) fn parse<'a>(file: &'a str, text: &str) -> Vec<Vector<'a>> {
    // What git does to the ends of lines on some machines is undone, then values become one line.
    let text = text.replace("\r\n", "\n").replace("\n    ", " ");
    let mut vectors = Vec::new();
    for paragraph in text.split("\n\n") {
        let mut fields = BTreeMap::new();
        for line in paragraph.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (key, value) =
                line.split_once('=').unwrap_or_else(|| panic!("{file}: {line}: no `=`"));
            let previous = fields.insert(key.trim().to_owned(), value.trim().to_owned());
            assert!(previous.is_none(), "{file}: {line}: twice in a vector");
        }
        if !fields.is_empty() {
            vectors.push(Vector { file, fields });
        }
    }
    vectors
}

impl Vector<'_> {
    pub(crate) fn name(&self) -> &str {
        self.text("name")
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.fields.contains_key(key)
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.fields
            .get(key)
            .unwrap_or_else(|| panic!("{}: no {key} in {:?}", self.file, self.fields))
    }

    pub(crate) fn number(&self, key: &str) -> u64 {
        self.text(key).parse().unwrap_or_else(|error| self.malformed(key, &error))
    }

    /// A value of hex digits and `repeat(digits, count)`, with spaces between them.
    pub(crate) fn bytes(&self, key: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut rest = self.text(key);
        while let Some((digits, repeat)) = rest.split_once("repeat(") {
            let (repeat, after) = repeat.split_once(')').expect("repeat( ends with )");
            let (unit, count) = repeat.split_once(", ").expect("repeat( has two arguments");
            let count = count.parse().unwrap_or_else(|error| self.malformed(key, &error));
            bytes.extend(self.unhex(key, digits));
            bytes.extend(self.unhex(key, unit).repeat(count));
            rest = after;
        }
        bytes.extend(self.unhex(key, rest));
        bytes
    }

    /// A value of [`bytes`](Self::bytes) that has to be `N` of them.
    pub(crate) fn array<const N: usize>(&self, key: &str) -> [u8; N] {
        let bytes = self.bytes(key);
        bytes.try_into().unwrap_or_else(|bytes: Vec<u8>| {
            self.malformed(key, &format!("{} bytes, not {N}", bytes.len()))
        })
    }

    fn unhex(&self, key: &str, digits: &str) -> Vec<u8> {
        let digits: String = digits.split_whitespace().collect();
        hex::decode(digits).unwrap_or_else(|error| self.malformed(key, &error))
    }

    fn malformed(&self, key: &str, why: &dyn core::fmt::Display) -> ! {
        panic!("{}: {}: {key}: {why}", self.file, self.name())
    }
}
