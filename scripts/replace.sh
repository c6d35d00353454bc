#!/bin/sh
# usage: scripts/replace.sh FROM TO
# Puts a copy of FROM in the place of TO when they differ. The old file is unlinked rather than written over: a
# program that has it mapped goes on with what it has.
set -eu
cmp -s "$1" "$2" && exit 0
cp "$1" "$2.new"
mv -f "$2.new" "$2"
