#!/bin/sh
# usage: scripts/test-sqlite.sh [TEST…]
# Runs the tests that hold for every store over SQLite, or those that are named. Their files are in memory where the
# system has a place for that: what is durable is tested elsewhere.
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d /dev/shm/taskhold-XXXXXX 2>/dev/null || mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM HUP
export TMPDIR="$folder" TASKHOLD_TEST_STORE=sqlite
export TASKHOLD_VECTOR_STORE="sqlite:$folder/case-{case}.db"
export TASKHOLD_VECTOR_STORE_OPTIONS='{"durability": "normal"}'
tests=
for name in ${*:-task_manager session_store a2a_saving a2a_listing a2a_liveness isolation vectors model races soak}; do
    tests="$tests --test $name"
done
# shellcheck disable=SC2086 # One word for each.
${CARGO:-cargo} test --quiet --no-fail-fast $tests
