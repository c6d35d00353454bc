#!/bin/sh
# usage: packaging/abidiff.sh
# Compares the ABI of the library with that of the last release (the last tag v*): abidiff of both shared libraries,
# built with types in their debug information, and the frozen lists in tests/abi. Additions are fine, anything else
# ends with an error. Before the first release the built library is compared with the functions of the committed header.
set -eu
cd "$(dirname "$0")/.."

work=$PWD/build/abi
mkdir -p "$work"

# Functions that were added are no finding; whatever else abidiff sees is one.
compare() {
    # Types are described in the files with the debug information, beside the libraries.
    abidiff --no-added-syms --debug-info-dir1 "${1%/*}" --debug-info-dir2 "${2%/*}" "$1" "$2" || {
        echo "The ABI is not that of $3: see docs/abi.md" >&2
        exit 1
    }
    echo "The ABI is that of $3."
}

# Makes $2/libtaskhold.so of the sources in $1, its types described. The optimizer has no say in an ABI. Each has a
# target folder of its own: cargo would take the one's library for the other's.
build() {
    CARGO_PROFILE_RELEASE_DEBUG=full CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_TARGET_DIR="$2/target" \
        MAKEFLAGS='' make --no-print-directory -C "$1" lib LIB="$2"
}

release=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)
if [ -z "$release" ]; then
    echo 'There is no release yet: comparing with the functions of the committed header'
    git show HEAD:include/taskhold.h >"$work/header.h"
    soname=$(readlink build/lib/libtaskhold.so)
    sed -n 's/.*[ *]\(taskhold_[a-z0-9_]*\)(.*/\1/p' "$work/header.h" | sort -u |
        sed 's/.*/void &(void);\nvoid &(void) {}/' >"$work/header.c"
    gcc -shared -fPIC -Wl,-soname,"$soname" "$work/header.c" -o "$work/header.so"
    compare "$work/header.so" build/lib/libtaskhold.so 'the committed header'
    exit 0
fi

echo "Comparing with $release"
then=$work/$release
if [ ! -e "$then/lib/libtaskhold.so" ]; then
    rm -rf "$then"
    mkdir "$then"
    git archive "$release" | tar -x -m -C "$then"
    build "$then" "$then/lib"
fi
build . "$work/now"
compare "$then/lib/libtaskhold.so" "$work/now/libtaskhold.so" "$release"

# Numbers of statuses and names of reasons are no symbols: abidiff does not see them.
for list in "$then/tests/abi"/*.txt; do
    gone=$(grep -vxF -f "tests/abi/${list##*/}" "$list" || true)
    [ -z "$gone" ] || { echo "Gone from tests/abi/${list##*/} since $release:" $gone >&2; exit 1; }
done
