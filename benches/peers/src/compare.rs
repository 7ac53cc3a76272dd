//! How far two records agree: the ratios of both, side by side where they differ most.

use crate::groups::{Group, groups};
use crate::record::Record;

/// Two runs on one machine are to agree this well, in percent.
const TOLERATED: f64 = 5.0;
/// How many of the worst places are shown.
const SHOWN: usize = 20;

/// One place that both records have, and how much larger the second ratio is, in percent.
struct Difference {
    place: String,
    ratios: [f64; 2],
}

impl Difference {
    fn percent(&self) -> f64 {
        100.0 * (self.ratios[1] / self.ratios[0] - 1.0)
    }
}

/// Prints how far the ratios differ, by best slices and by medians.
pub fn print(one: &Record, other: &Record) {
    let (one, other) = (groups(&one.rows), groups(&other.rows));
    let mut by_min = Vec::new();
    let mut by_median = Vec::new();
    for (group, length) in
        one.iter().flat_map(|group| group.lengths.iter().map(move |l| (group, *l)))
    {
        let same = |other: &&Group<'_>| (other.job, other.variant) == (group.job, group.variant);
        let Some(partner) = other.iter().find(same) else { continue };
        let (Some(a), Some(b)) = (group.verdict(length), partner.verdict(length)) else { continue };
        let place = format!("{}: {}, {length} bytes", group.job, group.variant);
        by_min.push(Difference { place: place.clone(), ratios: [a.min_ratio, b.min_ratio] });
        by_median.push(Difference { place, ratios: [a.median_ratio, b.median_ratio] });
    }
    report("best slices", by_min);
    report("median slices", by_median);
}

fn report(measure: &str, mut differences: Vec<Difference>) {
    differences.sort_by(|one, other| other.percent().abs().total_cmp(&one.percent().abs()));
    let apart =
        differences.iter().filter(|difference| difference.percent().abs() > TOLERATED).count();
    println!(
        "Ratios by {measure}: {} of {} within {TOLERATED} %.",
        differences.len() - apart,
        differences.len()
    );
    for difference in differences.iter().take(apart.min(SHOWN)) {
        let [one, other] = difference.ratios;
        println!("  {:+6.1} %  {one:.2} -> {other:.2}  {}", difference.percent(), difference.place);
    }
}
