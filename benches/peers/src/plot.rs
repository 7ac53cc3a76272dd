//! Records as charts: throughput by length, both axes logarithmic, ours the thick line.
//!
//! Each chart is an opaque light panel with dark text, so that it can be read on a dark page as
//! well as on a bright one. The legend stands beside the plot, ordered as the lines end.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::Failure;
use crate::groups::{Group, groups, is_ours};
use crate::record::{Header, Record, Row};

/// One chart: the group that it shows, and what else stands in it.
struct Chart {
    file: &'static str,
    job: &'static str,
    variant: &'static str,
    title: &'static str,
    thresholds: &'static [Threshold],
}

/// A length at which implementations switch.
struct Threshold {
    bytes: usize,
    label: &'static str,
    /// On which side of the line the label stands.
    side: HPos,
}

const CHARTS: [Chart; 8] = [
    Chart::plain("chacha.svg", "chacha", "xor", "ChaCha20, in place"),
    Chart {
        thresholds: &[
            Threshold { bytes: 208, label: "keyspring on IFMA: 208 B", side: HPos::Right },
            Threshold { bytes: 288, label: "Linux: 288 B", side: HPos::Left },
        ],
        ..Chart::plain("poly1305.svg", "poly1305", "mac", "Poly1305, one-shot")
    },
    Chart::plain("aead-seal.svg", "aead", "seal", "ChaCha20-Poly1305, seal"),
    Chart::plain("aead-open.svg", "aead", "open", "ChaCha20-Poly1305, open"),
    Chart::plain("batch.svg", "batch", "seal", "ChaCha20-Poly1305, batches of 16 packets"),
    Chart::plain("sequential.svg", "sequential", "seal", "ChaCha20-Poly1305, consecutive nonces"),
    Chart {
        thresholds: &[Threshold { bytes: 64, label: "one block: 64 B", side: HPos::Left }],
        ..Chart::plain("rng.svg", "rng", "fill", "Random bytes")
    },
    Chart::plain("keygen.svg", "keygen", "key", "Fresh keys"),
];

impl Chart {
    const fn plain(
        file: &'static str,
        job: &'static str,
        variant: &'static str,
        title: &'static str,
    ) -> Self {
        Self { file, job, variant, title, thresholds: &[] }
    }
}

const SIZE: (u32, u32) = (1080, 600);
const LEGEND_WIDTH: u32 = 230;
/// Room for the labels of thresholds above the highest line, as a factor.
const HEADROOM: f64 = 2.2;

const PANEL: RGBColor = RGBColor(0xfa, 0xfa, 0xf7);
const INK: RGBColor = RGBColor(0x26, 0x2a, 0x33);
const FAINT: RGBColor = RGBColor(0xdd, 0xdd, 0xd6);
const MIDDLING: RGBColor = RGBColor(0x77, 0x7b, 0x83);
const OURS: RGBColor = RGBColor(0xd6, 0x27, 0x28);
/// Colours for peers, told apart with common kinds of colour blindness, none of them red.
const PEERS: [RGBColor; 9] = [
    RGBColor(0x1f, 0x77, 0xb4),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0x7b, 0x3f, 0xa8),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x8c, 0x56, 0x4b),
    RGBColor(0x9a, 0x9a, 0x22),
    RGBColor(0xe0, 0x77, 0xb8),
    RGBColor(0x55, 0x5b, 0x66),
];

/// A candidate's line: name, colour, and throughput in MB/s by length.
struct Line<'a> {
    name: &'a str,
    colour: RGBColor,
    points: Vec<(f64, f64)>,
}

impl Line<'_> {
    fn width(&self) -> u32 {
        if is_ours(self.name) { 5 } else { 2 }
    }

    /// The throughput at the greatest length.
    fn end(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.1)
    }
}

/// Draws every chart that the record has data for, and returns the files.
pub fn draw(record: &Record, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    std::fs::create_dir_all(folder)?;
    let (groups, colours) = (groups(&record.rows), colours(&record.rows));
    let mut files = Vec::new();
    for chart in CHARTS {
        let wanted = |group: &&Group<'_>| (group.job, group.variant) == (chart.job, chart.variant);
        let Some(group) = groups.iter().find(wanted) else { continue };
        let file = folder.join(chart.file);
        let root = SVGBackend::new(&file, SIZE).into_drawing_area();
        root.fill(&PANEL)?;
        let (plot, legend) = root.split_horizontally(SIZE.0 - LEGEND_WIDTH);
        let lines = lines(group, &colours);
        draw_lines(&plot, &chart, &lines)?;
        draw_legend(&legend, &lines, &record.header)?;
        root.present()?;
        drop((plot, legend, root));
        files.push(file);
    }
    Ok(files)
}

/// The lines of a group, the slowest first, ours last, so that it lies above the others.
fn lines<'a>(group: &Group<'a>, colours: &HashMap<&str, RGBColor>) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = group
        .peers
        .iter()
        .map(|&name| Line {
            name,
            colour: if is_ours(name) { OURS } else { colours[name] },
            points: group
                .lengths
                .iter()
                .filter_map(|&length| group.row(name, length))
                .filter(|row| row.length > 0)
                .map(|row| (row.length as f64, throughput(row)))
                .collect(),
        })
        .collect();
    lines.sort_by(|one, other| {
        (is_ours(one.name), one.end())
            .partial_cmp(&(is_ours(other.name), other.end()))
            .expect("throughput is a number")
    });
    lines
}

/// A colour for each peer, the same in all charts of a record.
fn colours(rows: &[Row]) -> HashMap<&str, RGBColor> {
    let mut colours = HashMap::new();
    for row in rows.iter().filter(|row| !is_ours(&row.peer)) {
        let next = PEERS[colours.len() % PEERS.len()];
        colours.entry(row.peer.as_str()).or_insert(next);
    }
    colours
}

/// MB/s: bytes per microsecond.
fn throughput(row: &Row) -> f64 {
    row.length as f64 * 1000.0 / row.min_ns
}

fn draw_lines(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    chart: &Chart,
    lines: &[Line<'_>],
) -> Result<(), Failure> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let (left, right) = span(points().map(|point| point.0));
    let (bottom, top) = span(points().map(|point| point.1));
    let (left, right) = (left / 1.15, right * 1.15);
    let lengths = match lines.first() {
        Some(line) if line.points.len() <= 4 => line.points.iter().map(|point| point.0).collect(),
        _ => ticks(&[1.0], 4.0, left, right),
    };
    let (bottom, top) = (bottom / 1.3, top * HEADROOM);
    let mut context = ChartBuilder::on(area)
        .caption(chart.title, ("sans-serif", 24).into_font().color(&INK))
        .margin(16)
        .x_label_area_size(52)
        .y_label_area_size(76)
        .build_cartesian_2d(
            (left..right).log_scale().with_key_points(lengths),
            (bottom..top).log_scale().with_key_points(ticks(&[1.0, 2.0, 5.0], 10.0, bottom, top)),
        )?;
    context
        .configure_mesh()
        .bold_line_style(FAINT)
        .light_line_style(TRANSPARENT)
        .axis_style(MIDDLING)
        .label_style(("sans-serif", 15).into_font().color(&INK))
        .axis_desc_style(("sans-serif", 16).into_font().color(&INK))
        .x_desc("bytes")
        .y_desc("MB/s (higher is better)")
        .x_label_formatter(&|bytes| binary(*bytes))
        .y_label_formatter(&|rate| format!("{rate}"))
        .draw()?;
    for threshold in chart.thresholds {
        let bytes = threshold.bytes as f64;
        context.draw_series(DashedLineSeries::new(
            [(bytes, bottom), (bytes, top)],
            6,
            5,
            MIDDLING.stroke_width(1),
        ))?;
        let style = font(14).pos(Pos::new(threshold.side, VPos::Top));
        let off_the_line = if matches!(threshold.side, HPos::Left) { 1.08 } else { 1.0 / 1.08 };
        let at = (bytes * off_the_line, top / 1.04);
        context.draw_series([Text::new(threshold.label, at, style)])?;
    }
    for line in lines {
        let style = line.colour.stroke_width(line.width());
        context.draw_series(LineSeries::new(line.points.iter().copied(), style))?;
        let dot = |&at: &(f64, f64)| Circle::new(at, line.width(), line.colour.filled());
        context.draw_series(line.points.iter().map(dot))?;
    }
    Ok(())
}

/// The names of the lines in the order in which they end, and below them the machine.
fn draw_legend(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    lines: &[Line<'_>],
    header: &Header,
) -> Result<(), Failure> {
    const TOP: i32 = 70;
    const STEP: i32 = 30;
    let mut order: Vec<&Line<'_>> = lines.iter().collect();
    order.sort_by(|one, other| other.end().total_cmp(&one.end()));
    for (at, line) in order.into_iter().enumerate() {
        let y = TOP + STEP * at as i32;
        let style = line.colour.stroke_width(line.width());
        area.draw(&PathElement::new([(0, y), (26, y)], style))?;
        area.draw(&Circle::new((13, y), line.width(), line.colour.filled()))?;
        area.draw(&Text::new(line.name.to_owned(), (36, y - 7), font(15)))?;
    }
    let notes = ["cpu name", "cpu flags", "core clock", "mask", "date"];
    let notes = notes.into_iter().filter_map(|key| header.get(key));
    for (at, note) in notes.rev().enumerate() {
        area.draw(&Text::new(note.clone(), (0, SIZE.1 as i32 - 40 - 20 * at as i32), font(12)))?;
    }
    Ok(())
}

fn font(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(low, high), value| (value.min(low), value.max(high)))
}

/// The products of `digits` and powers of `base` that lie within the bounds.
fn ticks(digits: &[f64], base: f64, low: f64, high: f64) -> Vec<f64> {
    (-2..=12)
        .flat_map(|power| digits.iter().map(move |digit| digit * base.powi(power)))
        .filter(|tick| (low..=high).contains(tick))
        .collect()
}

/// 64, 1 KiB, 1 MiB; 1350 as it is.
fn binary(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    if bytes % (KIB * KIB) == 0.0 {
        format!("{} MiB", bytes / KIB / KIB)
    } else if bytes % KIB == 0.0 {
        format!("{} KiB", bytes / KIB)
    } else {
        format!("{bytes}")
    }
}
