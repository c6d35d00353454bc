"""Builds the library into the package, and takes the version from the crate.

Environment, all optional:
  TASKHOLD_PREBUILT      absolute path of a ready library; nothing is compiled
  TASKHOLD_PLATFORM_TAG  the wheel's platform tag; unless given, this machine's, on Linux with the oldest glibc that
                         the library runs on

The sources are those of the repository this folder lies in, or, in an unpacked source distribution, its `rust/`.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import struct
import subprocess
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

LICENSES = ("LICENSE-MIT", "LICENSE-APACHE")


def sources(root: str) -> Path:
    """Where the crate is."""
    here = Path(root)
    for base in (here / "rust", here.parent.parent):
        if (base / "Cargo.toml").is_file():
            return base
    raise RuntimeError(f"taskhold: the Rust sources are neither in {here / 'rust'} nor two folders above {here}")


def manifest(base: Path) -> dict[str, Any]:
    """The crate's Cargo.toml."""
    return tomllib.loads((base / "Cargo.toml").read_text())


class CrateVersion(MetadataHookInterface):
    """The package has the crate's version."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set it."""
        metadata["version"] = manifest(sources(self.root))["package"]["version"]


class NativeLibrary(BuildHookInterface[Any]):
    """Puts the library into a wheel, beside the modules for an editable install, and the sources into an sdist."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to what hatchling packs."""
        base = sources(self.root)
        included = build_data["force_include"]
        if self.target_name == "sdist":
            for file in crate_files(base):
                included[str(file)] = f"rust/{file.relative_to(base).as_posix()}"
            return
        library = built_library(base)
        name = packed_name(library)
        if version == "editable":
            beside = Path(self.root, "src", "taskhold", name)
            new = beside.with_name(name + ".new")
            shutil.copy2(library, new)
            # A process may have the old one mapped: it keeps it.
            new.replace(beside)
        else:
            included[str(library)] = f"taskhold/{name}"
            for license_file in LICENSES:
                included[str(base / license_file)] = f"taskhold/{license_file}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(library)}"


def built_library(base: Path) -> Path:
    """The library: a ready one, or the one that the project's own target builds."""
    if ready := os.environ.get("TASKHOLD_PREBUILT"):
        library = Path(ready).resolve(strict=True)
        return library if library.suffix in {".so", ".dylib", ".dll"} else renamed(library)
    for tool in ("make", "cargo", "gcc"):
        if shutil.which(tool) is None:
            raise RuntimeError(
                f"taskhold: building from source needs make, gcc and a Rust toolchain, and there is no {tool} here; "
                "install it, or name a ready library in TASKHOLD_PREBUILT"
            )
    # An outer make's flags and job server are not meant for this one.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    if subprocess.run(["make", "lib"], cwd=base, env=environment, check=False).returncode:
        raise RuntimeError("taskhold: building the library failed; what make and cargo said stands above")
    return renamed((base / "build/lib/libtaskhold.so").resolve(strict=True))


def renamed(library: Path) -> Path:
    """`libtaskhold.so.0` under the name that it has in the package."""
    link = library.with_name("libtaskhold.so")
    return link if link.is_file() else library


def packed_name(library: Path) -> str:
    """The name under which the package looks for the library on the library's platform."""
    return "taskhold.dll" if library.suffix == ".dll" else "libtaskhold" + library.suffix


def platform_tag(library: Path) -> str:
    """The platform in a wheel's name."""
    if given := os.environ.get("TASKHOLD_PLATFORM_TAG"):
        return given
    tag = sysconfig.get_platform()
    if tag.endswith("universal2"):
        # This Python runs on two architectures, the library is built for one.
        tag = tag.removesuffix("universal2") + platform.machine()
    if tag.startswith("linux") and (glibc := oldest_glibc(library.read_bytes())):
        tag = tag.replace("linux", f"manylinux_{glibc[0]}_{glibc[1]}", 1)
    return tag.replace("-", "_").replace(".", "_")


def oldest_glibc(library: bytes) -> tuple[int, int] | None:
    """The oldest glibc with all that a library links with; none for one that needs no glibc, as on musl."""
    needed = set()
    for version in needed_versions(library):
        if match := re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version):
            needed.add((int(match[1]), int(match[2])))
        elif version == "GLIBC_ABI_DT_RELR":
            needed.add((2, 36))
    return max(needed, default=None)


def needed_versions(library: bytes) -> Iterator[str]:
    """The versions of other libraries' symbols that an ELF file needs, out of its section of type SHT_GNU_verneed."""
    if library[:6] != b"\x7fELF\x02\x01":
        return
    (start,) = struct.unpack_from("<Q", library, 0x28)
    size, count = struct.unpack_from("<2H", library, 0x3A)
    sections = [struct.unpack_from("<2I4Q2I", library, start + size * index) for index in range(count)]
    for _, kind, _, _, at, _, link, files in sections:
        if kind != 0x6FFFFFFE:
            continue
        strings = sections[link][4]
        for _ in range(files):
            _, versions, _, first, following = struct.unpack_from("<2H3I", library, at)
            version = at + first
            for _ in range(versions):
                name, further = struct.unpack_from("<2I", library, version + 8)
                yield library[strings + name : library.index(0, strings + name)].decode()
                version += further
            at += following


def crate_files(base: Path) -> Iterator[Path]:
    """What `make lib` needs. Cargo wants every target of the manifest to be there, also those it does not build."""
    # How SQLite is compiled stands in `.cargo/config.toml`.
    files = ("Cargo.toml", "Cargo.lock", "Makefile", "build.rs", "cbindgen.toml", ".cargo/config.toml", "README.md")
    yield from (base / name for name in (*files, *LICENSES))
    for folder in ("src", "scripts", "include", "packaging"):
        yield from sorted(file for file in (base / folder).rglob("*") if file.is_file())
    for kind, folder in (("test", "tests"), ("bench", "benches"), ("example", "examples"), ("bin", "src/bin")):
        for target in manifest(base).get(kind, []):
            name = f"{folder}/{target['name']}"
            places = [target["path"]] if "path" in target else [f"{name}.rs", f"{name}/main.rs"]
            yield next(base / place for place in places if (base / place).is_file())
