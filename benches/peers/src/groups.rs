//! Rows put together again: one group per job and variant, and who won at each length.

use crate::peers::OURS;
use crate::record::Row;

/// All rows of one job and variant.
pub struct Group<'a> {
    /// The job's name.
    pub job: &'a str,
    /// What exactly was done.
    pub variant: &'a str,
    /// The candidates, in the order in which they were measured: ours first.
    pub peers: Vec<&'a str>,
    /// The lengths, in the order in which they were measured.
    pub lengths: Vec<usize>,
    rows: Vec<&'a Row>,
}

/// Ours against the best peer at one length. A ratio is the peer's time by ours: above 1, ours is
/// the faster one.
pub struct Verdict<'a> {
    /// Our row.
    pub ours: &'a Row,
    /// The row of the peer with the shortest best slice.
    pub best: &'a Row,
    /// The ratio of the best slices.
    pub min_ratio: f64,
    /// The ratio of the median slices, against the peer with the shortest median.
    pub median_ratio: f64,
}

/// Puts rows into groups, in order of appearance.
pub fn groups(rows: &[Row]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in rows {
        let (job, variant, length) = row.place();
        let known =
            groups.iter_mut().position(|group| (group.job, group.variant) == (job, variant));
        let at = known.unwrap_or_else(|| {
            groups.push(Group { job, variant, peers: vec![], lengths: vec![], rows: vec![] });
            groups.len() - 1
        });
        let group = &mut groups[at];
        if !group.peers.contains(&row.peer.as_str()) {
            group.peers.push(&row.peer);
        }
        if !group.lengths.contains(&length) {
            group.lengths.push(length);
        }
        group.rows.push(row);
    }
    groups
}

/// Whether a column is one of ours.
pub fn is_ours(peer: &str) -> bool {
    peer.starts_with(OURS)
}

impl<'a> Group<'a> {
    /// The result of one candidate at one length.
    pub fn row(&self, peer: &str, length: usize) -> Option<&'a Row> {
        self.rows.iter().copied().find(|row| row.peer == peer && row.length == length)
    }

    /// All results.
    pub fn rows(&self) -> &[&'a Row] {
        &self.rows
    }

    /// Who won at this length, if both we and a peer were there.
    pub fn verdict(&self, length: usize) -> Option<Verdict<'a>> {
        let rows = || self.rows.iter().copied().filter(|row| row.length == length);
        let ours = rows().filter(|row| is_ours(&row.peer)).min_by(by_min)?;
        let peers = || rows().filter(|row| !is_ours(&row.peer));
        let best = peers().min_by(by_min)?;
        let best_median = peers().map(|row| row.median_ns).min_by(f64::total_cmp)?;
        Some(Verdict {
            ours,
            best,
            min_ratio: best.min_ns / ours.min_ns,
            median_ratio: best_median / ours.median_ns,
        })
    }
}

impl Verdict<'_> {
    /// Whether ours is slower, by either measure, as far as two digits show.
    pub fn is_loss(&self) -> bool {
        const SHOWN_AS_ONE: f64 = 0.995;
        self.min_ratio.min(self.median_ratio) < SHOWN_AS_ONE
    }
}

fn by_min(one: &&Row, other: &&Row) -> core::cmp::Ordering {
    one.min_ns.total_cmp(&other.min_ns)
}
