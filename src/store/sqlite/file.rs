//! The file behind a store: found or created, judged and opened. Nothing here ever opens an existing file but
//! through SQLite: closing any other descriptor of it would drop the locks that this process has on it.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::backoff::Backoff;
use super::failure::{Failure, storage_error};
use super::file_guard::FileGuard;
use super::options::{Durability, Options};
use super::{names, network, schema};
use crate::error::{Error, Reason, Result};

/// Pages in the log at which it is copied back into the file, off the callers' path.
pub(super) const CHECKPOINT_PAGES: u32 = 4000;
/// What is left of the log's file after a burst.
pub(super) const LOG_BYTES_KEPT: i64 = 4096 * 2 * CHECKPOINT_PAGES as i64;
/// Page cache of one connection.
const CACHE_KIB: i64 = 8 * 1024;

/// A store's file. Whoever has a connection to it keeps this for as long: the guard says until then that the
/// file is in use.
#[derive(Debug)]
pub(super) struct StoreFile {
    path: PathBuf,
    guard: FileGuard,
}

fn unavailable(message: &'static str) -> Error {
    Error::new(Reason::StorageUnavailable, message)
}

impl StoreFile {
    /// Finds the file at `path`, or creates it empty, readable by its owner alone.
    pub(super) fn locate(path: &str, options: &Options) -> Result<Self> {
        // SQLite would keep the first to itself and read the second as a setting.
        if path.is_empty() || path == ":memory:" || path.starts_with("file:") || path.contains('\0') {
            return Err(Error::new(Reason::InvalidStoreUrl, "sqlite: is followed by the path of a file"));
        }
        // A host, or a relative path as some write it: it would silently be a file in the root.
        if path.starts_with("//") && !path.starts_with("///") {
            return Err(Error::new(
                Reason::InvalidStoreUrl,
                "sqlite: is followed by a path as it stands, without // before it",
            ));
        }
        let missing = |_| unavailable("the folder of the store's file is not there or cannot be used");
        let path = std::path::absolute(path).map_err(missing)?;
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Error::new(Reason::InvalidStoreUrl, "sqlite: is followed by the path of a file"));
        };
        let folder = folder.canonicalize().map_err(missing)?;
        if !options.allow_network_file_system && network::is_network(&folder) {
            return Err(Error::new(
                Reason::UnsupportedFileSystem,
                "the file is on a network file system, where processes cannot share it safely",
            )
            .with_key("allowNetworkFileSystem"));
        }
        let path = folder.join(name);
        match std::fs::metadata(&path) {
            Ok(metadata) if !metadata.is_file() => {
                return Err(unavailable("what is at the path of the store is not a file"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => create(&path)?,
            Err(_) => return Err(unavailable("the store's file cannot be looked at")),
        }
        // A link keeps its meaning for as long as the store is open.
        let path = path.canonicalize().map_err(|_| unavailable("the store's file cannot be looked at"))?;
        if names::has_other_names(&path) {
            return Err(Error::new(
                Reason::UnsupportedFileSystem,
                "the file has another name, a hard link or a mount: each name would get a log of its own",
            ));
        }
        let guard = FileGuard::before_open(&path, options.busy_timeout)?;
        Ok(Self { path, guard })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn guard(&self) -> &FileGuard {
        &self.guard
    }

    /// Bytes of the file and of its log.
    pub(super) fn sizes(&self) -> (u64, u64) {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        (size(&self.path), size(self.guard.log()))
    }

    /// A connection that writes, to a file that is a store of the present version.
    pub(super) fn open_writer(&self, options: &Options, backoff: &Backoff) -> Result<Connection> {
        let deadline = Instant::now() + options.busy_timeout;
        let mut connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let opened = backoff.until(deadline, || match prepare_file(&mut connection, options) {
            Err(Failure::Storage(error)) => Err(error),
            Err(Failure::Refused(error)) => Ok(Err(error)),
            Ok(()) => Ok(Ok(())),
        });
        opened.map_err(|error| storage_error(&error))??;
        self.guard.after_open(options.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    }

    /// A connection that reads.
    pub(super) fn open_reader(&self) -> rusqlite::Result<Connection> {
        let cannot_open = || {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
            rusqlite::Error::SqliteFailure(code, None)
        };
        let open = || self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(|_| cannot_open());
        let connection = open_if_ours(|| self.guard.has_files(), open)?.ok_or_else(cannot_open)?;
        connection.execute_batch(&format!(
            "PRAGMA trusted_schema = OFF; PRAGMA query_only = ON; PRAGMA cache_size = -{CACHE_KIB}"
        ))?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(connection)
    }

    fn connect(&self, access: OpenFlags) -> Result<Connection> {
        // The pool and the writer see to it that a connection is used by one thread at a time.
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let connection =
            Connection::open_with_flags(&self.path, flags).map_err(|error| storage_error(&error))?;
        let set_up = || {
            connection.busy_timeout(std::time::Duration::ZERO)?;
            // Without this, every new value of a parameter in a range has its statement compiled anew.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            // The last to close would copy the log, on whatever thread it closes.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        };
        set_up().map_err(|error| storage_error(&error))?;
        Ok(connection)
    }
}

/// Opens a connection, unless another file lies at the path before or behind the opening: the connection would take the
/// index beside that file for its own and cut it off under those that use it. SQLite opens the index with the first
/// statement, so that the second look is in time.
pub(super) fn open_if_ours(
    is_ours: impl Fn() -> bool,
    open: impl FnOnce() -> rusqlite::Result<Connection>,
) -> rusqlite::Result<Option<Connection>> {
    if !is_ours() {
        return Ok(None);
    }
    let connection = open()?;
    Ok(is_ours().then_some(connection))
}

/// Makes the file a store of the present version, if it is one or is empty, and sets the connection up.
fn prepare_file(connection: &mut Connection, options: &Options) -> std::result::Result<(), Failure> {
    schema::look(connection)?;
    if connection.is_readonly("main")? {
        return Err(Failure::Refused(unavailable("the store's file cannot be written")));
    }
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", (), |row| row.get(0))?;
    if mode != "wal" {
        return Err(Failure::Refused(unavailable("the file system cannot share memory between processes")));
    }
    let synchronous = match options.durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    connection.execute_batch(&format!(
        "PRAGMA synchronous = {synchronous}; PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = OFF; \
         PRAGMA journal_size_limit = {LOG_BYTES_KEPT}; PRAGMA temp_store = MEMORY; \
         PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA cache_size = -{CACHE_KIB}"
    ))?;
    schema::migrate(connection)
}

/// Creates an empty file under another name and gives it its own name when it is closed, so that closing it
/// never meets a lock of this process.
fn create(path: &Path) -> Result<()> {
    let refused = |_| unavailable("the store's file cannot be created");
    let mut random = [0; 8];
    getrandom::fill(&mut random)
        .map_err(|_| Error::new(Reason::SystemResource, "the operating system gave no random numbers"))?;
    let mut new = path.to_path_buf().into_os_string();
    new.push(format!("-new-{:016x}", u64::from_ne_bytes(random)));
    let new = PathBuf::from(new);
    let mut create = std::fs::OpenOptions::new();
    create.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut create, 0o600);
    drop(create.open(&new).map_err(refused)?);
    let linked = names::move_to_free_name(&new, path);
    // Where there are no links the file is created in place: then nobody had it open before.
    let created = match linked {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => create.open(path).map(drop).or_else(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(error),
        }),
    };
    let _ = std::fs::remove_file(&new);
    created.map_err(refused)
}
