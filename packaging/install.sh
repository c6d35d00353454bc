#!/bin/sh
# usage: packaging/install.sh install|uninstall PREFIX LIBDIR [DESTDIR]
# Puts header, libraries, pkg-config file, CMake package and licences under DESTDIR/PREFIX, or takes away what is
# there. LIBDIR is below PREFIX: lib, lib64, lib/x86_64-linux-gnu. No path is written into an installed file. Version,
# description and link line come from Cargo.toml and from what `make lib` built.
set -eu
cd "$(dirname "$0")/.."

command=$1 prefix=$2 libdir=$3 destdir=${4:-}
case $prefix in
/*) ;;
*) echo "PREFIX must be an absolute path: $prefix" >&2; exit 1 ;;
esac
case /$libdir/ in
//* | */../*) echo "LIBDIR must be a folder below PREFIX: $libdir" >&2; exit 1 ;;
esac

root=$destdir$prefix
lib=$root/$libdir
include=$root/include
pkgconfig=$lib/pkgconfig
cmake=$lib/cmake/taskhold
licences=$root/share/licenses/taskhold
built=build/lib

# The first `name = "value"` of Cargo.toml with that name is the package's own.
package() {
    sed -n "s/^$1 = \"\(.*\)\"\$/\1/p" Cargo.toml | head -n 1
}

# The link line of the static library without what a compiler adds by itself, and in its right form also for a
# program that is static as a whole.
system_libraries() {
    tr ' ' '\n' <$built/native-static-libs.txt | grep -vx -e -lc -e -lgcc_s -e '' | paste -s -d ' '
}

fill_in() {
    sed -e "s|@VERSION@|$version|g" -e "s|@MAJOR@|${version%%.*}|g" -e "s|@DESCRIPTION@|$(package description)|g" \
        -e "s|@SONAME@|$soname|g" -e "s|@SHARED@|libtaskhold.so.$version|g" \
        -e "s|@LIBDIR@|$libdir|g" -e "s|@UP@|$(echo "$libdir" | sed 's|[^/][^/]*|..|g')|g" \
        -e "s|@SYSTEM_LIBRARIES@|$(system_libraries)|g" \
        -e "s|@SYSTEM_LIBRARIES_LIST@|$(system_libraries | tr ' ' ';')|g" "packaging/$1.in" >"$2/$1"
    chmod 644 "$2/$1"
}

# A program that has the old library mapped keeps it: files are unlinked, never written over.
put() {
    rm -f "$3/$2"
    install -m "$4" "$1" "$3/$2"
}

install_all() {
    for file in libtaskhold.so libtaskhold.a native-static-libs.txt; do
        [ -e "$built/$file" ] || { echo "$built/$file is not there: run make lib first" >&2; exit 1; }
    done
    version=$(package version)
    soname=$(readlink "$built/libtaskhold.so")
    install -d "$include" "$pkgconfig" "$cmake" "$licences"
    put include/taskhold.h taskhold.h "$include" 644
    put "$built/$soname" "libtaskhold.so.$version" "$lib" 755
    ln -sfn "libtaskhold.so.$version" "$lib/$soname"
    ln -sfn "$soname" "$lib/libtaskhold.so"
    put "$built/libtaskhold.a" libtaskhold.a "$lib" 644
    fill_in taskhold.pc "$pkgconfig"
    fill_in taskhold-config.cmake "$cmake"
    fill_in taskhold-config-version.cmake "$cmake"
    put LICENSE-MIT LICENSE-MIT "$licences" 644
    put LICENSE-APACHE LICENSE-APACHE "$licences" 644
    refresh_loader
    echo "Installed taskhold $version in $root"
}

uninstall_all() {
    # libtaskhold.so leads to the link with the number of the SONAME, and that to the library.
    next=libtaskhold.so
    while [ -n "$next" ]; do
        file=$lib/${next##*/}
        next=$(readlink "$file" || true)
        rm -f "$file"
    done
    rm -f "$lib/libtaskhold.a" "$include/taskhold.h" "$pkgconfig/taskhold.pc" \
        "$cmake/taskhold-config.cmake" "$cmake/taskhold-config-version.cmake" \
        "$licences/LICENSE-MIT" "$licences/LICENSE-APACHE"
    rmdir "$cmake" "$licences" 2>/dev/null || true
    refresh_loader
    echo "Took taskhold out of $root"
}

# In the system's own folders the loader finds a library only through its cache.
refresh_loader() {
    case $destdir$prefix in
    /usr | /usr/local) [ "$(id -u)" -ne 0 ] || ldconfig ;;
    esac
}

case $command in
install) install_all ;;
uninstall) uninstall_all ;;
*) echo "usage: $0 install|uninstall PREFIX LIBDIR [DESTDIR]" >&2; exit 1 ;;
esac
