//! Records as tables: rows are lengths, columns are ours and the peers, and at the end the ratio.

use comfy_table::{CellAlignment, Table, presets};

use crate::bounds::{Bound, bound};
use crate::groups::{Group, Verdict, groups};
use crate::record::{Header, Row};

/// Where a table is to be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// In a terminal.
    Plain,
    /// In a page of Markdown.
    Markdown,
}

/// From this length on, set-up no longer hides the bound.
const BOUND_FROM: usize = 1024;

/// Prints one table per job and variant.
pub fn print(header: &Header, rows: &[Row], style: Style) {
    for group in groups(rows) {
        let mark = if style == Style::Markdown { "### " } else { "" };
        println!("{mark}{}: {}, {} per message\n", group.job, group.variant, unit(&group));
        if group.variant == "blocks" {
            println!("{}\n", blocks_table(&group, style));
        } else {
            let bound = bound(group.job, header);
            println!("{}\n", lengths_table(&group, bound, style));
            if let Some(bound) = bound {
                println!("Bound: {} cycles per KiB ({}).\n", bound.cycles_per_kib, bound.core);
            }
        }
        println!("{}\n", noise(&group));
    }
}

/// Every length against every candidate.
fn lengths_table(group: &Group<'_>, bound: Option<Bound>, style: Style) -> Table {
    let mut titles = vec!["bytes".to_owned()];
    titles.extend(group.peers.iter().map(|&peer| peer.to_owned()));
    if bound.is_some() {
        titles.extend(["ours per KiB".into(), "of bound".into()]);
    }
    titles.extend(VERDICT_TITLES.map(str::to_owned));
    let mut table = new_table(titles, style);
    for &length in &group.lengths {
        let mut cells = vec![length.to_string()];
        cells.extend(group.peers.iter().map(|peer| shown(group.row(peer, length))));
        let verdict = group.verdict(length);
        if let Some(bound) = bound {
            let ours = verdict.as_ref().filter(|_| length >= BOUND_FROM);
            let per_kib = ours.and_then(|verdict| {
                verdict.ours.min_cycles.map(|cycles| cycles * 1024.0 / length as f64)
            });
            cells.push(per_kib.map_or_else(String::new, |cycles| format!("{cycles:.0}")));
            cells.push(per_kib.map_or_else(String::new, |cycles| {
                format!("{:.0} %", 100.0 * bound.cycles_per_kib / cycles)
            }));
        }
        cells.extend(verdict_cells(verdict.as_ref()));
        table.add_row(cells);
    }
    table
}

/// Numbers of whole blocks: ours and the best peer, and where a shorter message costs more than a
/// longer one.
fn blocks_table(group: &Group<'_>, style: Style) -> Table {
    let mut titles = vec!["blocks".to_owned(), "ours".into(), "best".into()];
    titles.extend(VERDICT_TITLES.map(str::to_owned));
    titles.extend(["ours dearer than".into(), "best dearer than".into()]);
    let mut table = new_table(titles, style);
    let verdicts: Vec<(usize, Verdict<'_>)> = group
        .lengths
        .iter()
        .filter_map(|&length| Some((length / 64, group.verdict(length)?)))
        .collect();
    for (at, (blocks, verdict)) in verdicts.iter().enumerate() {
        let mut cells =
            vec![blocks.to_string(), shown(Some(verdict.ours)), shown(Some(verdict.best))];
        cells.extend(verdict_cells(Some(verdict)));
        let longer = &verdicts[at + 1..];
        cells.push(dearer_than(
            verdict.ours,
            longer.iter().map(|(blocks, other)| (*blocks, other.ours)),
        ));
        cells.push(dearer_than(
            verdict.best,
            longer.iter().map(|(blocks, other)| (*blocks, other.best)),
        ));
        table.add_row(cells);
    }
    table
}

/// The shortest of the longer messages that this one costs over 5 % more than, if there is one.
fn dearer_than<'a>(row: &Row, mut longer: impl Iterator<Item = (usize, &'a Row)>) -> String {
    const TOLERATED: f64 = 1.05;
    longer
        .find(|(_, other)| row.min_ns > TOLERATED * other.min_ns)
        .map_or_else(String::new, |(blocks, _)| blocks.to_string())
}

const VERDICT_TITLES: [&str; 4] = ["best peer", "ratio", "by median", ""];

fn verdict_cells(verdict: Option<&Verdict<'_>>) -> [String; 4] {
    verdict.map_or_else(Default::default, |verdict| {
        [
            verdict.best.peer.clone(),
            format!("{:.2}", verdict.min_ratio),
            format!("{:.2}", verdict.median_ratio),
            if verdict.is_loss() { "LOSS".into() } else { String::new() },
        ]
    })
}

fn new_table(titles: Vec<String>, style: Style) -> Table {
    let mut table = Table::new();
    table.load_style(match style {
        Style::Plain => presets::ASCII_BORDERS_ONLY_CONDENSED,
        Style::Markdown => presets::ASCII_MARKDOWN,
    });
    table.set_header(titles);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Cycles where they are known for all, else nanoseconds.
fn unit(group: &Group<'_>) -> &'static str {
    let known = group.rows().iter().all(|row| row.min_cycles.is_some());
    if known { "core cycles" } else { "nanoseconds" }
}

/// The best slice's time; a digit after the point where it matters.
fn shown(row: Option<&Row>) -> String {
    row.map_or_else(String::new, |row| {
        let time = row.min_cycles.unwrap_or(row.min_ns);
        if time < 100.0 { format!("{time:.1}") } else { format!("{time:.0}") }
    })
}

/// How far the median slices lie above the best ones.
fn noise(group: &Group<'_>) -> String {
    let mut above: Vec<f64> =
        group.rows().iter().map(|row| 100.0 * (row.median_ns / row.min_ns - 1.0)).collect();
    above.sort_by(f64::total_cmp);
    let (typical, worst) = (above[above.len() / 2], above[above.len() - 1]);
    format!("Noise: median slices are {typical:.1} % above the best, {worst:.1} % at worst.")
}
