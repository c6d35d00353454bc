#!/bin/sh
# usage: scripts/test-postgres.sh [TEST…]
#        scripts/test-postgres.sh pooled
# Runs the tests that hold for every store over PostgreSQL, or those that are named, on servers of their own. How
# text is compared and sorted differs between the two servers and shows in the vectors; the other tests need one.
# "pooled" plays the vectors through PgBouncer in transaction mode.
set -eu
cd "$(dirname "$0")/.."
export TASKHOLD_TEST_STORE=postgres
# A store for each case; the name of the schema is replaced as `{case}` says.
export TASKHOLD_VECTOR_STORE_OPTIONS='{"schema": "case_{case}"}'

run() {
    server=$1
    shift
    tests=
    for name in "$@"; do
        tests="$tests --test $name"
    done
    # shellcheck disable=SC2016,SC2086 # The inner shell has the URL; one word for each.
    $server sh -c 'TASKHOLD_VECTOR_STORE=$TASKHOLD_TEST_POSTGRES exec "$@"' sh \
        ${CARGO:-cargo} test --quiet --no-fail-fast $tests
}

if [ "${1:-}" = pooled ]; then
    export TASKHOLD_VECTOR_STORE_OPTIONS='{"schema": "case_{case}", "poolerSafe": true}'
    run 'scripts/postgres.sh c scripts/pgbouncer.sh' vectors
elif [ $# -gt 0 ]; then
    run 'scripts/postgres.sh c' "$@"
else
    run 'scripts/postgres.sh icu' vectors
    run 'scripts/postgres.sh c' task_manager session_store a2a_saving a2a_listing a2a_liveness model races soak
fi
