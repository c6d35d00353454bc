#!/bin/sh
# usage: scripts/verify.sh [CHECK…]
# Runs the checks that take too long for every change, or those that are named, and says in the end what passed.
# A check that fails does not keep the others from running. What each does: docs/verification.md
set -u
cd "$(dirname "$0")/.."

all='clients panics lengthy sqlite postgres interleavings miri threads fuzz mutants abi dependencies bundle'
logs=build/verify
target=${CARGO_TARGET_DIR:-target}
cargo=${CARGO:-cargo}
PATH=$PATH:$PWD/build/tools/bin
export PATH
mkdir -p "$logs"

# The status of a check that could not run here; it says why itself.
skipped=77

nightly() {
    component=$1
    if $cargo +nightly --version >/dev/null 2>&1 &&
        rustup +nightly component list --installed 2>/dev/null | grep -q "^$component"; then
        echo "With $($cargo +nightly --version)"
    else
        echo "There is no nightly toolchain with $component: rustup toolchain install nightly -c $component"
        return $skipped
    fi
}

tool() {
    command -v "$1" >/dev/null || {
        echo "Building $1 into build/tools"
        $cargo install --quiet --locked --root build/tools "$1"
    }
}

clients() {
    TASKHOLD_VALGRIND=1 $cargo test --quiet --test c_clients --test conversation --test sqlite_restart --test readme
}

# The faults of PostgreSQL (p…) need no injection: they are tests like others.
panics() {
    $cargo test --quiet --features fault-injection --test '[!p]*faults*' --test panics
}

lengthy() {
    TASKHOLD_MODEL_CASES=${TASKHOLD_MODEL_CASES:-5000} TASKHOLD_RACE_ROUNDS=${TASKHOLD_RACE_ROUNDS:-50000} \
        TASKHOLD_SOAK=${TASKHOLD_SOAK:-200000} $cargo test --quiet --test model --test races --test soak
}

sqlite() {
    TASKHOLD_MODEL_CASES=${TASKHOLD_SQLITE_MODEL_CASES:-1000} \
        TASKHOLD_RACE_ROUNDS=${TASKHOLD_SQLITE_RACE_ROUNDS:-3000} \
        TASKHOLD_SOAK=${TASKHOLD_SQLITE_SOAK:-20000} scripts/test-sqlite.sh model races soak &&
        TASKHOLD_KILL_ROUNDS=${TASKHOLD_KILL_ROUNDS:-200} $cargo test --quiet --test sqlite_processes &&
        TASKHOLD_VISITS=${TASKHOLD_VISITS:-200} $cargo test --quiet --test sqlite_visitors
}

postgres() {
    TASKHOLD_MODEL_CASES=${TASKHOLD_POSTGRES_MODEL_CASES:-200} \
        TASKHOLD_RACE_ROUNDS=${TASKHOLD_POSTGRES_RACE_ROUNDS:-1000} \
        TASKHOLD_SOAK=${TASKHOLD_POSTGRES_SOAK:-5000} scripts/test-postgres.sh model races soak isolation vectors &&
        scripts/test-postgres.sh pooled &&
        TASKHOLD_CUT_STEP=${TASKHOLD_CUT_STEP:-1} $cargo test --quiet --test postgres_faults cuts &&
        TASKHOLD_OUTAGES=${TASKHOLD_OUTAGES:-20} $cargo test --quiet --test postgres_outages &&
        TASKHOLD_KILL_ROUNDS=${TASKHOLD_POSTGRES_KILL_ROUNDS:-200} $cargo test --quiet --test postgres_processes
}

interleavings() {
    export CARGO_TARGET_DIR="$target/interleavings" TASKHOLD_SCHEDULES="${TASKHOLD_SCHEDULES:-20000}"
    for model in interleavings orderings; do
        $cargo run --quiet --locked --manifest-path tests/interleavings/Cargo.toml --bin $model || return 1
    done
}

# SQLite is C, which Miri cannot run. The clocks and the random numbers of the system are wanted.
miri() {
    nightly miri || return
    export CARGO_TARGET_DIR="$target/miri" MIRIFLAGS=-Zmiri-disable-isolation
    $cargo +nightly miri test --quiet --no-default-features --lib ffi:: &&
        $cargo +nightly miri test --quiet --no-default-features --test handles --test callbacks
}

# The standard library is built with the sanitizer too, or its locks would look like races.
threads() {
    nightly rust-src || return
    export CARGO_TARGET_DIR="$target/threads" RUSTFLAGS=-Zsanitizer=thread TSAN_OPTIONS=halt_on_error=1
    TASKHOLD_RACE_ROUNDS=500 $cargo +nightly test --quiet -Zbuild-std --target "$(uname -m)-unknown-linux-gnu" \
        --no-default-features --test races --test handles --test events_hub
}

fuzz() {
    nightly rustc || return
    tool cargo-fuzz || return
    $cargo +nightly fuzz build --fuzz-dir fuzz --target-dir "$target/fuzz" 2>&1 || return
    for name in $(cd fuzz/fuzz_targets && ls ./*.rs | sed 's|^./||; s|\.rs$||'); do
        # What was found interesting before is kept there, beside what is committed.
        mkdir -p "build/fuzz/$name"
        echo "Fuzzing: $name"
        "$target/fuzz/$(uname -m)-unknown-linux-gnu/release/$name" "build/fuzz/$name" "fuzz/corpus/$name" \
            -max_total_time="${TASKHOLD_FUZZ_SECONDS:-60}" -timeout=20 -rss_limit_mb=4096 \
            -artifact_prefix="build/fuzz/$name-" -print_final_stats=1 2>&1 || return
    done
}

mutants() {
    [ "${TASKHOLD_MUTANTS:-1}" != 0 ] || {
        echo 'TASKHOLD_MUTANTS=0: left out'
        return $skipped
    }
    tool cargo-mutants || return
    mkdir -p build/mutants
    # All of them take an hour and more: a fourth each day.
    shard="--shard $(($(date +%s) / 86400 % 4))/4"
    [ "${TASKHOLD_MUTANTS:-1}" != all ] || shard=
    # What is compiled for one run is compiled quickly.
    env -u CARGO_TARGET_DIR CARGO_PROFILE_TEST_OPT_LEVEL=0 CARGO_PROFILE_TEST_DEBUG=0 \
        $cargo mutants -j "${TASKHOLD_MUTANTS_JOBS:-2}" $shard --output build/mutants --colors never
}

abi() {
    make --no-print-directory abidiff
}

dependencies() {
    make --no-print-directory deny
}

bundle() {
    make --no-print-directory java-bundle
}

# The last words of a check, for the list.
gist() {
    case $1 in
    interleavings) echo "$(grep -c '^ok' "$2") models" ;;
    miri | threads) grep -o 'With .*' "$2" | head -1 ;;
    fuzz) awk '/number_of_executed_units/ { n += $2 } END { print n " inputs" }' "$2" ;;
    sqlite | postgres) awk '/^test result: ok/ { n += $4 } /^ok: / { rounds = $2 } END { print n " tests, " rounds " rounds of kills" }' "$2" ;;
    bundle) grep 'artifacts, as' "$2" | cut -d: -f1 ;;
    mutants) grep 'mutants tested' "$2" | tail -1 ;;
    *) awk '/^test result: ok/ { n += $4 } END { if (n) print n " tests" }' "$2" ;;
    esac
}

summary=$logs/summary
: >"$summary"
failures=0
for check in ${*:-$all}; do
    case " $all " in
    *" $check "*) ;;
    *)
        echo "There is no check $check: $all" >&2
        exit 2
        ;;
    esac
    echo "Verifying: $check"
    begun=$(date +%s)
    ("$check") >"$logs/$check.log" 2>&1
    status=$?
    seconds=$(($(date +%s) - begun))
    case $status in
    0) printf 'passed   %-14s %5d s  %s\n' "$check" $seconds "$(gist "$check" "$logs/$check.log")" ;;
    "$skipped") printf 'skipped  %-14s %5d s  %s\n' "$check" $seconds "$(tail -1 "$logs/$check.log")" ;;
    *)
        tail -30 "$logs/$check.log" >&2
        printf 'FAILED   %-14s %5d s  %s\n' "$check" $seconds "$logs/$check.log"
        failures=$((failures + 1))
        ;;
    esac >>"$summary"
done
echo
for check in sqlite postgres; do
    case " ${*:-$all} " in
    *" $check "*) echo "On $check, $(sed -n '/^queued work in all:/,+2p' "$logs/$check.log")" ;;
    esac
done
cat "$summary"
exit $((failures > 0))
