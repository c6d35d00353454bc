//! Network and shared-folder file systems, told by the number that the kernel gives their kind. SQLite's log
//! needs memory that all processes share, which such a file system does not give to two hosts.

#![forbid(unsafe_code)]

use std::path::Path;

/// Whether `folder` lies on a network or shared-folder file system. What cannot be told is none.
#[cfg(target_os = "linux")]
pub(super) fn is_network(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|stats| is_network_magic(stats.f_type.cast_unsigned() & 0xffff_ffff))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_network(_folder: &Path) -> bool {
    false
}

/// Of statfs(2) and the kernel's `magic.h`. FUSE is among them: sshfs, virtiofs and s3fs cannot be told from it.
#[cfg(target_os = "linux")]
fn is_network_magic(magic: u64) -> bool {
    const NETWORK: [u64; 19] = [
        0x6969,      // NFS
        0x517b,      // SMB
        0xfe53_4d42, // SMB2
        0xff53_4d42, // CIFS
        0x564c,      // NCP
        0x0102_1997, // 9P
        0x6573_5546, // FUSE
        0x00c3_6400, // Ceph
        0x5346_414f, // AFS
        0x6b41_4653, // kAFS
        0x7375_7245, // Coda
        0x0bd0_0bd0, // Lustre
        0x4750_4653, // GPFS
        0x0116_1970, // GFS2
        0x7461_636f, // OCFS2
        0x1983_0326, // BeeGFS
        0x786f_4256, // VirtualBox shared folders
        0xbacb_acbc, // VMware shared folders
        0x2030_528e, // PanFS
    ];
    NETWORK.contains(&magic)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart() {
        for network in [0x6969, 0xff53_4d42, 0x6573_5546, 0x0102_1997] {
            assert!(is_network_magic(network), "{network:x}");
        }
        // ext, xfs, btrfs, tmpfs, overlayfs, zfs
        for local in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1] {
            assert!(!is_network_magic(local), "{local:x}");
        }
    }

    #[test]
    fn this_folder_is_judged() {
        assert!(!is_network(Path::new("/proc")));
        assert!(!is_network(Path::new("/no such folder")));
    }
}
