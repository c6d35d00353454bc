#!/bin/sh
# usage: scripts/pgbouncer.sh COMMAND…
# Runs the command behind a PgBouncer of its own in transaction mode, with few connections, before the server that
# TASKHOLD_TEST_POSTGRES names (scripts/postgres.sh). The command finds the pooler's URL in its place.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$here/require.sh" pgbouncer

folder=$(mktemp -d /tmp/taskhold-pgbouncer-XXXXXX)
pid=
stop() {
    trap '' INT TERM HUP
    # It ends at once, without a grace for its clients.
    if [ -s "$folder/pid" ]; then
        kill -TERM "$(cat "$folder/pid")" || :
        wait "$pid" || :
    fi
    rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

rest=${TASKHOLD_TEST_POSTGRES#postgresql://}
login=${rest%%@*}
server=${rest#*@}
password=$(printf '%s' "${login#*:}" | sed 's|%40|@|g; s|%2F|/|g')
server_port=${server#*:}
server_port=${server_port%%/*}

printf '"%s" "%s"\n' "${login%%:*}" "$password" >"$folder/users"
for try in 1 2 3 4 5 6 7 8; do
    port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
    cat >"$folder/pgbouncer.ini" <<END
[databases]
* = host=127.0.0.1 port=$server_port
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $folder/users
pool_mode = transaction
default_pool_size = 4
max_client_conn = 400
# What a session would have to keep; a library that needs such a thing must notice.
ignore_startup_parameters = extra_float_digits
logfile = $folder/log
pidfile = $folder/pid
END
    # It refuses to run as root too.
    if [ "$(id -u)" -eq 0 ]; then
        chown -R postgres "$folder"
        runuser -u postgres -- pgbouncer -q "$folder/pgbouncer.ini" &
    else
        pgbouncer -q "$folder/pgbouncer.ini" &
    fi
    pid=$!
    for look in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        [ ! -s "$folder/pid" ] || break 2
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    wait "$pid" || :
    [ "$try" -lt 8 ] || { cat "$folder/log" >&2; exit 1; }
done
export TASKHOLD_TEST_POSTGRES="postgresql://$login@127.0.0.1:$port/${server#*/}"
"$@"
