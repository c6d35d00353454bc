#!/bin/sh
# usage: packaging/check-lto.sh LIBRARY
# Says whether link-time optimization covered everything that the shared library is made of. The linker notes the
# object files in the symbol table: with fat LTO all crates and the standard library have become one. Only
# compiler_builtins never takes part; the names without "-cgu." are the C runtime's. Of a stripped library the table is
# in the file with its debug information, LIBRARY.debug.
set -eu

table=$(readlink -f "$1")
[ ! -e "$table.debug" ] || table=$table.debug
objects=$(readelf -sW "$table" | awk '$4 == "FILE" && $8 ~ /-cgu\./ { print $8 }' | grep -v '^compiler_builtins[.-]' | sort -u)
case $(printf '%s\n' "$objects" | grep -c .) in
0) echo "Link-time optimization: unknown, $1 has no symbol table" >&2; exit 1 ;;
1) echo "Link-time optimization: fat, everything is in $objects" ;;
*) echo "Link-time optimization is OFF or thin in $1: it is made of" $objects >&2; exit 1 ;;
esac
