#!/bin/sh
# usage: scripts/postgres.sh c|icu COMMAND…
# Runs the command beside a PostgreSQL server of its own, which is removed when the command ends: collation C or ICU's
# en-US, and defaults that no store may rely on. A system's own clusters are left alone. The command finds
#   TASKHOLD_TEST_POSTGRES      the URL of an empty database, as its owner, who may create databases and roles
#   TASKHOLD_TEST_POSTGRES_CA   the certificate that the server's own, for the name localhost, is signed with
#   TASKHOLD_TEST_POSTGRES_CTL  the words that call pg_ctl for this server, before "stop", "start" or "restart"
# and the server's programs (psql, pg_dump) first on its path.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

collation=${1:-}
case $collation in
# The time zones are odd ones: the second is nobody's, as only POSIX can write it.
c) locale='--locale=C' zone=Asia/Kathmandu ;;
icu) locale='--locale-provider=icu --icu-locale=en-US --locale=C.UTF-8' zone='<odd>-13:17' ;;
*)
    echo 'usage: scripts/postgres.sh c|icu COMMAND…' >&2
    exit 2
    ;;
esac
shift

"$here/require.sh" postgres openssl
for bin in /usr/lib/postgresql/*/bin; do :; done

# PostgreSQL refuses to run as root, so that root runs it as the user of Debian's package.
as_owner() {
    if [ "$(id -u)" -eq 0 ]; then
        (cd "$folder" && exec runuser -u postgres -- "$@")
    else
        (cd "$folder" && exec "$@")
    fi
}

folder=$(mktemp -d "/tmp/taskhold-postgres-XXXXXX")
stop() {
    trap '' INT TERM HUP
    if [ -f "$folder/data/postmaster.pid" ]; then
        as_owner "$bin/pg_ctl" stop -s -w -m immediate -D "$folder/data" || :
    fi
    rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
[ "$(id -u)" -ne 0 ] || chown postgres "$folder"

# What a user of the script has set for another server.
unset PGHOST PGHOSTADDR PGPORT PGUSER PGDATABASE PGPASSWORD PGPASSFILE PGSERVICE PGOPTIONS PGSSLMODE PGTZ 2>/dev/null || :

# A password that a URL cannot hold as it is.
secret=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
printf '%s\n' "p@ss/$secret" >"$folder/password"

# One certificate signs the other.
cat >"$folder/certificates.sh" <<'END'
set -eu
umask 077
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj '/CN=taskhold test CA' \
    -keyout ca.key -out ca.crt
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost \
    -keyout server.key -out server.csr
echo subjectAltName=DNS:localhost >server.ext
openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile server.ext -out server.crt
END

start() {
    # $locale is a list of words on purpose.
    as_owner "$bin/initdb" -D "$folder/data" -U postgres --pwfile="$folder/password" --auth=scram-sha-256 \
        --encoding=UTF8 $locale --no-sync
    as_owner sh "$folder/certificates.sh"
    cat >>"$folder/data/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 400
ssl = on
ssl_cert_file = '$folder/server.crt'
ssl_key_file = '$folder/server.key'
# What is durable is tested by killing processes, never the machine.
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
# Defaults that a store must not rely on.
default_transaction_isolation = 'serializable'
timezone = '$zone'
client_encoding = 'LATIN1'
datestyle = 'SQL, DMY'
intervalstyle = 'sql_standard'
bytea_output = 'escape'
standard_conforming_strings = off
escape_string_warning = off
transform_null_equals = on
END
    # Below the ports that the system gives to outgoing connections. A port that is taken is noticed at the start.
    for try in 1 2 3 4 5 6 7 8; do
        port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
        echo "port = $port" >>"$folder/data/postgresql.conf"
        ! as_owner "$bin/pg_ctl" start -w -D "$folder/data" -l "$folder/log" || break
        [ "$try" -lt 8 ] || return 1
    done
    PGPASSWORD="p@ss/$secret" "$bin/psql" -q -v ON_ERROR_STOP=1 "postgresql://postgres@127.0.0.1:$port/postgres" <<END
CREATE ROLE taskhold LOGIN CREATEDB CREATEROLE PASSWORD 'p@ss/$secret';
CREATE DATABASE taskhold OWNER taskhold;
END
}

said=$(start 2>&1) || {
    printf '%s\n' "$said" >&2
    [ ! -f "$folder/log" ] || tail -20 "$folder/log" >&2
    echo 'The PostgreSQL server of the tests did not start' >&2
    exit 1
}
port=$(sed -n 's/^port = //p' "$folder/data/postgresql.conf" | tail -1)

export PATH="$bin:$PATH"
export TASKHOLD_TEST_POSTGRES="postgresql://taskhold:p%40ss%2F$secret@127.0.0.1:$port/taskhold?sslmode=disable"
export TASKHOLD_TEST_POSTGRES_CA="$folder/ca.crt"
TASKHOLD_TEST_POSTGRES_CTL="$bin/pg_ctl -s -w -D $folder/data -l $folder/log"
[ "$(id -u)" -ne 0 ] || TASKHOLD_TEST_POSTGRES_CTL="runuser -u postgres -- $TASKHOLD_TEST_POSTGRES_CTL"
export TASKHOLD_TEST_POSTGRES_CTL
"$@"
