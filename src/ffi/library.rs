//! The library itself: versions, what it can do, and reading a value out of a JSON text.

use std::ffi::{CStr, c_char};
use std::sync::atomic::Ordering;

use super::args::{Out, text};
use super::fork::LIVE_HANDLES;
use super::guard::{guard, guard_plain};
use super::status::taskhold_status;
use crate::a2a::{self, StateProvider};
use crate::error::{Error, Reason, Result, Status};
use crate::json::{self, ObjectWriter};
use crate::options::{MAXIMUM_DURATION_MS, MAXIMUM_NAME_BYTES, MAXIMUM_PAGE_SIZE};
use crate::session::SessionStore;
use crate::store::Store;
use crate::task::TaskManager;
use crate::text::{Text, check_room};

/// The version of the functions, types and constants of this header. Compare it with taskhold_abi_version()
/// when the library is loaded at run time.
pub const TASKHOLD_ABI_VERSION: u32 = 1;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version holds no NUL"),
};

/// Gives the ABI version of the library that is loaded; see TASKHOLD_ABI_VERSION.
///
/// @return The version.
/// @note Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn taskhold_abi_version() -> u32 {
    guard_plain("taskhold_abi_version", TASKHOLD_ABI_VERSION, || TASKHOLD_ABI_VERSION)
}

/// Gives the version of the library that is loaded, such as "0.1.0".
///
/// @return Static; never freed.
/// @note Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn taskhold_version() -> *const c_char {
    guard_plain("taskhold_version", VERSION.as_ptr(), || VERSION.as_ptr())
}

/// Gives the name of a status: "ok", "invalid_argument", ...
///
/// @param status In: a status, or any other number.
/// @return Static; never freed; "unknown" for a number that is no status.
/// @note Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn taskhold_status_name(status: i32) -> *const c_char {
    let unknown = c"unknown".as_ptr();
    guard_plain("taskhold_status_name", unknown, || {
        Status::from_code(status).map_or(unknown, |status| status.c_name().as_ptr())
    })
}

/// Describes the library: `version`, `abiVersion`, `backends` (array of strings), `limits` (`identifierBytes`,
/// `nestingDepth`, `payloadBytes` where no option says otherwise, `durationMs`, `taskPageSize`,
/// `sessionPageSize`, `a2aTaskPageSize`), `defaults` (the options of `manager`, `sessionStore` and `stateProvider` over memory) and
/// `liveHandles` (how many handles this process has open). Members may be added.
///
/// @param out_json  Out, owned: JSON object. Free it with taskhold_string_free().
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK.
/// @note Any thread. Not for a hot path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_describe(
    out_json: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (json, error) = unsafe { (Out::clear(out_json), Out::clear(out_error)) };
    guard("taskhold_describe", error, || {
        json.require("out_json")?;
        json.give(describe()?)?;
        Ok(())
    })
}

fn describe() -> Result<Text> {
    // What an open object says of itself cannot differ from what it does.
    let store = Store::in_memory();
    let defaults = [
        ("manager", TaskManager::open(&store, None)?.options()),
        ("sessionStore", SessionStore::open(&store, None)?.options()),
        ("stateProvider", StateProvider::open(&store, None)?.options()),
    ];
    let limits = [
        ("identifierBytes", MAXIMUM_NAME_BYTES as u64),
        ("nestingDepth", json::MAXIMUM_DEPTH.into()),
        ("payloadBytes", json::DEFAULT_MAXIMUM_PAYLOAD_BYTES),
        ("durationMs", MAXIMUM_DURATION_MS),
        ("taskPageSize", MAXIMUM_PAGE_SIZE),
        ("sessionPageSize", MAXIMUM_PAGE_SIZE),
        ("a2aTaskPageSize", a2a::MAXIMUM_PAGE_SIZE),
    ];
    let mut text = Text::with_capacity(1024);
    let mut description = ObjectWriter::new(&mut text);
    description.string("version", env!("CARGO_PKG_VERSION")).int("abiVersion", TASKHOLD_ABI_VERSION);
    let backends =
        [("memory", true), ("sqlite", cfg!(feature = "sqlite")), ("postgres", cfg!(feature = "postgres"))];
    description
        .array("backends")
        .strings(backends.into_iter().filter(|(_, is_built)| *is_built).map(|(name, _)| name));
    let mut object = description.object("limits");
    for (key, limit) in limits {
        object.int(key, limit);
    }
    drop(object);
    let mut object = description.object("defaults");
    for (key, options) in defaults {
        object.json(key, options.as_str());
    }
    drop(object);
    description.int("liveHandles", LIVE_HANDLES.load(Ordering::Relaxed));
    drop(description);
    Ok(text)
}

/// Reads one value out of a JSON text, for hosts without a parser.
///
/// @param json      In: a JSON text of any size, nested at most 144 deep: whatever this library gives out.
/// @param pointer   In: RFC 6901 pointer: "" is the whole text, "/task/taskId" a member of a member, "/tasks/0"
///                  an element.
/// @param out_value Out, owned: a string decoded, anything else as its text in `json`; NULL when it is not
///                  there. Free it with taskhold_string_free().
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK, also when the value is not there; INVALID_ARGUMENT (invalid_value: `pointer` is malformed;
///         embedded_nul: the string holds U+0000: ask for its parent; malformed `json`); LIMIT_EXCEEDED
///         (nesting_too_deep).
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_json_get(
    json: *const c_char,
    pointer: *const c_char,
    out_value: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (value, error) = unsafe { (Out::clear(out_value), Out::clear(out_error)) };
    guard("taskhold_json_get", error, || {
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (json, pointer) = unsafe { (text("json", json)?, text("pointer", pointer)?) };
        value.require("out_value")?;
        value.give_optional(json_value(json, pointer)?)?;
        Ok(())
    })
}

fn json_value(json: &str, pointer: &str) -> Result<Option<Text>> {
    let Some(value) = json::parse_given_out(json)?.pointer(pointer)? else { return Ok(None) };
    check_room(value.text().len())?;
    let Some(string) = value.as_str() else { return Ok(Some(Text::from(value.text()))) };
    if string.contains('\0') {
        return Err(Error::new(Reason::EmbeddedNul, "the string holds U+0000; ask for its parent"));
    }
    Ok(Some(Text::from(&*string)))
}
