#!/bin/sh
# usage: scripts/test-postgres.sh [TEST…]
# Runs the tests that hold for every store over PostgreSQL, or those that are named, on servers of their own. How
# text is compared and sorted differs between the two servers and shows in the vectors; the other tests need one.
set -eu
cd "$(dirname "$0")/.."
export TASKHOLD_TEST_STORE=postgres
# A store for each case; the name of the schema is replaced as `{case}` says.
export TASKHOLD_VECTOR_STORE_OPTIONS='{"schema": "case_{case}"}'

run() {
    collation=$1
    shift
    tests=
    for name in "$@"; do
        tests="$tests --test $name"
    done
    # shellcheck disable=SC2016 # The inner shell has the URL.
    scripts/postgres.sh "$collation" sh -c 'TASKHOLD_VECTOR_STORE=$TASKHOLD_TEST_POSTGRES exec "$@"' sh \
        ${CARGO:-cargo} test --quiet --no-fail-fast $tests
}

if [ $# -gt 0 ]; then
    run c "$@"
else
    run icu vectors
    run c task_manager session_store a2a_saving a2a_listing a2a_liveness isolation vectors model races soak
fi
