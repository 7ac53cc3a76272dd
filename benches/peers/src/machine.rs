//! The machine: pinning the thread, and the header of a record.

use core::mem::{MaybeUninit, size_of};
use std::process::Command;

use crate::record::Header;

/// The CPU flags that decide which code runs, as Linux calls them.
const FLAGS_OF_INTEREST: [&str; 8] =
    ["ssse3", "avx2", "avx512f", "avx512vl", "avx512ifma", "vaes", "avx_ifma", "cpuid_fault"];

/// What a record tells of the CPU, by the names of the record and of `lscpu`.
const LSCPU_FIELDS: [(&str, &str); 6] = [
    ("cpu vendor", "Vendor ID"),
    ("cpu name", "Model name"),
    ("cpu family", "CPU family"),
    ("cpu model", "Model"),
    ("cpu stepping", "Stepping"),
    ("hypervisor", "Hypervisor vendor"),
];

/// Binds this thread to one CPU, `cpu` or else the one that it runs on, and returns which.
pub fn pin(cpu: Option<usize>) -> Result<usize, std::io::Error> {
    // SAFETY: takes nothing.
    let current = unsafe { libc::sched_getcpu() };
    let cpu = cpu.unwrap_or(usize::try_from(current).unwrap_or(0));
    // SAFETY: a set of CPUs is plain bits, and all zero is the empty one.
    let mut set = unsafe { MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init() };
    // SAFETY: a number past the end of the set is left out by the call itself.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: 0 is this thread; the size is that of the set.
    let error = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
    if error == 0 { Ok(cpu) } else { Err(std::io::Error::last_os_error()) }
}

/// What is known about machine and tools, for the top of a record.
pub fn describe() -> Header {
    let mut header = Header::new();
    let mut put = |key: &str, value: String| header.insert(key.into(), value);
    let lscpu = output("lscpu", &[]);
    for (key, theirs) in LSCPU_FIELDS {
        put(key, field(&lscpu, theirs).unwrap_or("unknown").into());
    }
    let flags: Vec<&str> = field(&lscpu, "Flags").unwrap_or_default().split(' ').collect();
    let present = FLAGS_OF_INTEREST.iter().filter(|flag| flags.contains(flag));
    put("cpu flags", present.copied().collect::<Vec<_>>().join(" "));
    put("kernel", output("uname", &["-r"]));
    put("libc", output("getconf", &["GNU_LIBC_VERSION"]));
    put("rustc", output("rustc", &["--version"]));
    put("revision", output("git", &["--no-optional-locks", "describe", "--always", "--dirty"]));
    put("date", output("date", &["+%F"]));
    header
}

/// A folder name for this kind of CPU: its model's name, and the numbers that name alone may hide.
pub fn slug(header: &Header) -> String {
    let get = |key: &str| header.get(key).map_or("unknown", String::as_str);
    let name: String = get("cpu name")
        .to_lowercase()
        .replace("(r)", "")
        .replace("(tm)", "")
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .collect();
    let words: Vec<&str> = name.split('-').filter(|word| !word.is_empty()).collect();
    format!("{}-{}-{}", words.join("-"), get("cpu family"), get("cpu model"))
}

/// The flags that this process sees: under a mask, CPUID says less than `lscpu` found out.
pub fn visible(header: &mut Header, mask: &str) {
    header.insert("mask".into(), mask.into());
    if let Some(flags) = header.get_mut("cpu flags") {
        let kept = flags.split(' ').filter(|flag| match *flag {
            #[cfg(target_arch = "x86_64")]
            "avx2" => std::is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            "avx512f" | "avx512vl" => std::is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            "avx512ifma" => std::is_x86_feature_detected!("avx512ifma"),
            _ => true,
        });
        *flags = kept.collect::<Vec<_>>().join(" ");
    }
}

/// What a command prints, or "unknown".
fn output(program: &str, arguments: &[&str]) -> String {
    Command::new(program)
        .args(arguments)
        .env_remove("LD_PRELOAD")
        .output()
        .ok()
        .filter(|output| output.status.success())
        .map_or_else(
            || "unknown".into(),
            |output| String::from_utf8_lossy(&output.stdout).trim().into(),
        )
}

/// The value of a `key: value` line.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim()))
}
