#!/bin/sh
# usage: packaging/finish.sh BUILT LIB
# Makes the files that are shipped, in the folder LIB, of the two libraries that cargo left in the folder BUILT:
#   libtaskhold.so.0        stripped; libtaskhold.so leads to it
#   libtaskhold.so.0.debug  its debug information, found by name and by build id
#   libtaskhold.a           one object without debug information, of whose symbols only taskhold_* can be seen: a
#                           program may have another SQLite and other static Rust libraries beside it
# Files are replaced, not rewritten: a running program keeps what it has mapped.
set -eu

built=$1 lib=$2
cc=${CC:-gcc}
objcopy=${OBJCOPY:-objcopy}
shared=libtaskhold.so.0

# Nothing was linked since: nothing to do.
state=$(stat -c '%n %i %s %y' "$built/libtaskhold.so" "$built/libtaskhold.a" "$0")
made=$lib/.made-from
if [ -e "$lib/$shared" ] && [ -e "$lib/$shared.debug" ] && [ -e "$lib/libtaskhold.a" ] &&
    [ "$(cat "$made" 2>/dev/null)" = "$state" ]; then
    exit 0
fi

mkdir -p "$lib"
work=$(mktemp -d "$lib/.new-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

$objcopy --only-keep-debug "$built/libtaskhold.so" "$work/$shared.debug"
chmod 644 "$work/$shared.debug"
$objcopy --strip-all --add-gnu-debuglink="$work/$shared.debug" "$built/libtaskhold.so" "$work/$shared"

# What the standard library brings for a compiler's link-time optimization is used up by then. Groups are dissolved, because a linker knows them by name, and another Rust library has groups of the same names.
$cc -r -nostdlib -Wl,--force-group-allocation -Wl,--whole-archive "$built/libtaskhold.a" -o "$work/all.o"
$objcopy --wildcard --keep-global-symbol='taskhold_*' --strip-debug \
    --remove-section=.llvmbc --remove-section=.llvmcmd "$work/all.o" "$work/taskhold.o"
ar rcs "$work/libtaskhold.a" "$work/taskhold.o"

for file in "$shared.debug" "$shared" libtaskhold.a; do
    mv -f "$work/$file" "$lib/$file"
done
ln -sfn "$shared" "$lib/libtaskhold.so"
echo "$state" >"$work/made-from"
mv -f "$work/made-from" "$made"
