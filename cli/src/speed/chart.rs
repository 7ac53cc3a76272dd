//! A record as a chart: throughput by length, both axes logarithmic.

use plotters::prelude::*;

use super::Record;

const SIZE: (u32, u32) = (960, 560);

/// Told apart with common kinds of colour blindness.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0x1f, 0x77, 0xb4),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0x7b, 0x3f, 0xa8),
    RGBColor(0xd6, 0x27, 0x28),
    RGBColor(0x8c, 0x56, 0x4b),
    RGBColor(0x55, 0x5b, 0x66),
];

/// Draws a chart, as SVG.
pub(super) fn draw(record: &Record) -> String {
    let mut text = String::new();
    draw_to(&mut text, record).expect("a string takes all that is drawn");
    text
}

type Failed<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

fn draw_to<'a>(text: &'a mut String, record: &Record) -> Result<(), Failed<'a>> {
    let rates = || record.rows.iter().map(|row| row.gigabytes_per_second);
    let mut bytes: Vec<_> = record.rows.iter().map(|row| row.bytes as f64).collect();
    bytes.sort_by(f64::total_cmp);
    bytes.dedup();
    let (short, long) = (bytes[0] / 1.2, bytes[bytes.len() - 1] * 1.2);
    let (low, high) = (rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max));
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(format!("keyspring {}", record.version), ("sans-serif", 24))
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .build_cartesian_2d(
            (short..long).log_scale().with_key_points(bytes),
            (low / 1.3..high * 1.3).log_scale(),
        )?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", 15))
        .x_desc("bytes")
        .y_desc("GB/s (higher is better)")
        .x_label_formatter(&|bytes| bytes.to_string())
        .y_label_formatter(&|rate| rate.to_string())
        .draw()?;
    for (rows, colour) in record.rows.chunk_by(|a, b| a.job == b.job).zip(COLOURS) {
        let points = rows.iter().map(|row| (row.bytes as f64, row.gigabytes_per_second));
        let line = LineSeries::new(points, colour.stroke_width(3)).point_size(4);
        let sample = move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(3));
        chart.draw_series(line)?.label(rows[0].job).legend(sample);
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .label_font(("sans-serif", 15))
        .background_style(WHITE)
        .border_style(BLACK)
        .draw()?;
    root.present()
}
