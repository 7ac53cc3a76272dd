//! The measurements, the manual pages and the completions.

use std::fs;

use serde_json::Value;
use tempfile::tempdir;

use crate::files::expect_run;
use crate::{keyspring, stdout_of};

const JOBS: [&str; 7] =
    ["ChaCha20", "Poly1305", "seal", "open", "seal 16 at once", "random bytes", "session key"];

fn text_of(args: &str) -> String {
    String::from_utf8(stdout_of(args)).unwrap()
}

#[test]
fn the_table_has_a_line_for_each_job_and_length() {
    let text = text_of("speed --quick");
    for job in JOBS {
        let line = text.lines().find(|line| line.starts_with(&format!("{job}  ")));
        let line = line.unwrap_or_else(|| panic!("{job} is missing in {text}"));
        let rate = line[job.len()..].split_whitespace().nth(3).unwrap();
        assert!(rate.parse::<f64>().unwrap() > 0.0, "{line}");
    }
    assert_eq!(text.lines().filter(|line| line.contains("65536")).count(), 5, "{text}");
}

#[test]
fn the_json_has_the_same_rows() {
    let record: Value = serde_json::from_str(&text_of("speed --quick --json")).unwrap();
    assert_eq!(record["version"], env!("CARGO_PKG_VERSION"));
    let rows = record["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 5 * 7 + 5 + 1);
    for row in rows {
        assert!(JOBS.contains(&row["job"].as_str().unwrap()), "{row}");
        let number = |key: &str| row[key].as_f64().unwrap();
        let rate = number("bytes") / number("nanoseconds");
        assert!(rate > 0.0 && (rate / number("gigabytes_per_second") - 1.0).abs() < 1e-9, "{row}");
        assert!(!row["backend"].as_str().unwrap().is_empty(), "{row}");
    }
}

#[test]
fn the_chart_names_every_job_and_replaces_nothing_unless_forced() {
    let directory = tempdir().unwrap();
    let run = |args| keyspring(directory.path(), args).output().unwrap();
    assert!(run("speed --quick --svg speed.svg").status.success());
    let chart = fs::read_to_string(directory.path().join("speed.svg")).unwrap();
    assert!(chart.starts_with("<svg ") && chart.trim_end().ends_with("</svg>"), "{chart}");
    for label in JOBS.iter().chain(&["bytes", "GB/s (higher is better)"]) {
        assert!(chart.contains(&format!("\n{label}\n")), "{label} is not in {chart}");
    }
    let message = "keyspring: cannot create speed.svg: file exists; use --force to replace it\n";
    expect_run(&directory, "speed --quick --svg speed.svg", 1, message);
    assert!(run("speed --quick --svg speed.svg --force").status.success());
}

#[test]
fn every_command_has_a_manual_page() {
    for command in
        ["keygen", "rand", "seal", "open", "info", "selftest", "speed", "completions", "man"]
    {
        let page = text_of(&format!("man {command}"));
        assert!(page.contains(&format!(".TH keyspring-{command} 1 ")), "{page}");
        assert!(text_of("man").contains(&format!("keyspring\\-{command}(1)")), "{command}");
    }
    assert!(text_of("man").contains("Exit codes: 0"));
    assert!(text_of("man seal").contains("A sealed file is a header of 91 bytes and chunks."));
}

#[test]
fn every_shell_completes_the_options_of_seal() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(text_of(&format!("completions {shell}")).contains("passphrase-file"), "{shell}");
    }
}
