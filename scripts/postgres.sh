#!/bin/bash
# Run a command with DATABASE_URL naming a private PostgreSQL: bash scripts/postgres.sh COMMAND...
# The cluster lives in a temporary folder, listens on a unix socket only, keeps nothing safe on disk
# (fsync off) and is gone afterwards. As root the server runs as user postgres: it refuses root.
set -euo pipefail

bin=""
for found in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin "$(dirname "$(command -v createdb || echo /none)")"; do
    if [ -x "$found/initdb" ] && [ -x "$found/createdb" ]; then
        bin=$found
        break
    fi
done
if [ -z "$bin" ]; then
    echo "PostgreSQL is not installed here (apt-get install postgresql)." >&2
    exit 1
fi

folder=$(mktemp -d /tmp/throughline-pg-XXXXXX) # short: a socket's path is limited to 107 bytes
as_owner=()
if [ "$(id -u)" = 0 ]; then
    chown postgres "$folder"
    as_owner=(setpriv --reuid postgres --regid postgres --clear-groups)
fi
chmod 700 "$folder"

finish() {
    (cd /; "${as_owner[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate -s stop) || true
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

(
    cd /
    "${as_owner[@]}" "$bin/initdb" --no-sync -D "$folder/data" -U throughline -A trust -E UTF8 \
        --locale C >/dev/null
    "${as_owner[@]}" "$bin/pg_ctl" -D "$folder/data" -s -w -l "$folder/log" start \
        -o "-c listen_addresses='' -c unix_socket_directories='$folder' -c fsync=off -c full_page_writes=off -c synchronous_commit=off -c max_connections=300"
    "${as_owner[@]}" "$bin/createdb" -h "$folder" -U throughline throughline
)
encoded=${folder//\//%2F}
DATABASE_URL="postgres://throughline@$encoded/throughline" "$@"
