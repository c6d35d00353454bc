//! Who has a file open or locked, as the kernel tells it in `/proc`. Descriptors are told apart by what their links
//! say, so that no other file is touched: one on a network that is away would not answer.

#![forbid(unsafe_code)]

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::file_guard::Identity;

/// The descriptors that this process has of the file at `path`.
#[cfg(target_os = "linux")]
fn descriptors(path: &Path) -> impl Iterator<Item = OsString> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries
        .filter(move |entry| std::fs::read_link(entry.path()).is_ok_and(|target| target == path))
        .map(|entry| entry.file_name())
}

#[cfg(not(target_os = "linux"))]
fn descriptors(_path: &Path) -> impl Iterator<Item = OsString> {
    std::iter::empty()
}

/// Whether this process has the file open.
pub(super) fn has_open(path: &Path) -> bool {
    descriptors(path).next().is_some()
}

/// A descriptor of the file through which this process has a lock on it. SQLite keeps one for as long as it has the
/// file open.
pub(super) fn locked_descriptor(path: &Path) -> Option<OsString> {
    descriptors(path).find(|number| is_locked(number))
}

/// Whether this is still such a descriptor.
pub(super) fn has_lock(number: &OsStr, path: &Path) -> bool {
    let link = Path::new("/proc/self/fd").join(number);
    std::fs::read_link(link).is_ok_and(|target| target == path) && is_locked(number)
}

/// The kernel tells the locks of a descriptor in one piece, unlike those of the whole system.
fn is_locked(number: &OsStr) -> bool {
    let info = Path::new("/proc/self/fdinfo").join(number);
    std::fs::read_to_string(info).is_ok_and(|info| info.contains("POSIX"))
}

/// The processes with a lock on a file, as far as they can be seen from here. On a file system that numbers devices in
/// its own way, none.
#[cfg(target_os = "linux")]
pub(super) fn holders((device, inode): Identity) -> Vec<u32> {
    let wanted = format!("{:02x}:{:02x}:{inode}", rustix::fs::major(device), rustix::fs::minor(device));
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    locks.lines().filter_map(|line| holder(line, &wanted)).collect()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn holders(_identity: Identity) -> Vec<u32> {
    Vec::new()
}

/// The process of a line such as `1: POSIX  ADVISORY  READ 1234 08:01:131085 128 128`, if it is about that file. Those
/// that wait for a lock have an arrow in the second place.
#[cfg(target_os = "linux")]
fn holder(line: &str, wanted: &str) -> Option<u32> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (kind, _, _) = (words.next()?, words.next()?, words.next()?);
    let (process, file) = (words.next()?, words.next()?);
    if kind == "POSIX" && file == wanted { process.parse().ok() } else { None }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::holder;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let file = "08:01:131085";
        for (line, process) in [
            ("1: POSIX  ADVISORY  READ 1234 08:01:131085 128 128", Some(1234)),
            ("22: POSIX  ADVISORY  WRITE 7 08:01:131085 0 EOF", Some(7)),
            ("1: -> POSIX  ADVISORY  READ 1234 08:01:131085 128 128", None),
            ("1: FLOCK  ADVISORY  WRITE 1234 08:01:131085 0 EOF", None),
            ("1: POSIX  ADVISORY  READ 1234 08:01:131086 128 128", None),
            ("1: POSIX  ADVISORY  READ -1 08:01:131085 128 128", None),
            ("", None),
        ] {
            assert_eq!(holder(line, file), process, "{line}");
        }
    }
}
