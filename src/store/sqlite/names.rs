//! The names of a store's file. SQLite finds the log of a file by the file's name, so that a file with two names would
//! get two logs, and what was acknowledged through one would be lost to the other.

#![forbid(unsafe_code)]

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::sync::thread;

/// How long a second hard link may be there: a process that creates the file may link it and unlink the first name.
const LONGEST_CREATION: Duration = Duration::from_secs(1);

/// Whether the file can be reached by another name than this one: it has several hard links, or a mount shows it here
/// or there alone. As far as can be told.
pub(super) fn has_other_names(path: &Path) -> bool {
    let begun = Instant::now();
    while links(path) > 1 {
        if begun.elapsed() > LONGEST_CREATION {
            return true;
        }
        thread::sleep(Duration::from_millis(2));
    }
    is_mount_point(path)
}

#[cfg(unix)]
fn links(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).map_or(1, |metadata| metadata.nlink())
}

#[cfg(not(unix))]
fn links(_path: &Path) -> u64 {
    1
}

#[cfg(target_os = "linux")]
fn is_mount_point(path: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    statx(CWD, path, AtFlags::empty(), StatxFlags::empty()).is_ok_and(|found| {
        found.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT)
            && found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
    })
}

#[cfg(not(target_os = "linux"))]
fn is_mount_point(_path: &Path) -> bool {
    false
}

/// Gives a new file its name unless that is taken, without a moment at which it has two if the system can do that.
pub(super) fn move_to_free_name(new: &Path, path: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, new, CWD, path, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => {}
            renamed => return renamed.map_err(io::Error::from),
        }
    }
    std::fs::hard_link(new, path)
}
