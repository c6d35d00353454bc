//! Tells the linker what the shared library is called and how it is loaded, and writes the C header to `OUT_DIR`
//! under the feature `header`. Without that feature nothing is generated; the source tree is never written to.

#[cfg(feature = "header")]
#[path = "packaging/header.rs"]
mod header;

use std::env;

/// The generation of the shared library. It changes together with `TASKHOLD_ABI_VERSION`: docs/abi.md.
const GENERATION: u32 = 0;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for argument in link_arguments(&variable("CARGO_CFG_TARGET_OS"), &variable("CARGO_CFG_TARGET_ENV")) {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
    #[cfg(feature = "header")]
    write_header();
}

/// What the platform's linker is told of the shared library: its name, its version, and that it is never unloaded.
fn link_arguments(system: &str, environment: &str) -> Vec<String> {
    let (minor, patch) = (variable("CARGO_PKG_VERSION_MINOR"), variable("CARGO_PKG_VERSION_PATCH"));
    match (system, environment) {
        // There is no flag against unloading: the loader keeps what has thread-local data, as Rust's library has.
        // A version that begins with 0 is none there, so the generation is counted from 1, as libtool does.
        ("macos" | "ios", _) => vec![
            format!("-Wl,-install_name,@rpath/libtaskhold.{GENERATION}.dylib"),
            format!("-Wl,-compatibility_version,{}", GENERATION + 1),
            format!("-Wl,-current_version,{}.{minor}.{patch}", GENERATION + 1),
        ],
        ("windows", "msvc") => vec![format!("/VERSION:{GENERATION}.{minor}")],
        ("windows", _) => {
            vec![format!("-Wl,--major-image-version,{GENERATION},--minor-image-version,{minor}")]
        }
        // The id finds the debug information that is kept beside a stripped library.
        _ => vec![
            format!("-Wl,-soname,libtaskhold.so.{GENERATION}"),
            "-Wl,-z,nodelete".to_owned(),
            "-Wl,--build-id=sha1".to_owned(),
        ],
    }
}

#[cfg(feature = "header")]
fn write_header() {
    use std::path::{Path, PathBuf};

    for source in ["packaging/header.rs", "cbindgen.toml", "src/reason.rs", "src/ffi"] {
        println!("cargo::rerun-if-changed={source}");
    }
    let text = header::generate(Path::new(&variable("CARGO_MANIFEST_DIR")));
    std::fs::write(PathBuf::from(variable("OUT_DIR")).join("taskhold.h"), text).expect("OUT_DIR is writable");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
