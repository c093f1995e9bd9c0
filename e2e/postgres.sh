#!/usr/bin/env bash
# Runs tests, or any command, with a separate PostgreSQL server, whose URL is in CONVOKE_TEST_POSTGRES.
# Usage: e2e/postgres.sh [all | engine | servers | nodes | runtime | application | COMMAND …]; the default is `all`.
# - engine: the tests of the engine
# - servers: the tests with standbys, restores and a pooler, which start more servers
# - nodes: the tests with several nodes as processes
# - runtime: the tests of routes, webhooks and files
# - application: the tests of the application
# The server runs in a temporary folder as an unprivileged user, and is stopped at the end. Installs Debian's package if
# it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

found() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1; }
source e2e/program.sh
if [ -z "$(found)" ] || ! command -v openssl >/dev/null || ! command -v pgbouncer >/dev/null; then
    install_packages --no-install-recommends postgresql openssl pgbouncer
fi
bin=$(found)
folder=$(mktemp -d /tmp/convoke-postgres.XXXXXX)
# A port on which nothing listens, below the ports of outgoing connections, and apart from those of the tests with more
# servers.
port=${CONVOKE_TEST_POSTGRES_PORT:-}
while [ -z "$port" ] || (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((28000 + RANDOM % 4000)); done

# PostgreSQL refuses to run as root.
as_user() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; else "$@"; fi; }
if [ "$(id -u)" = 0 ]; then chown postgres "$folder"; fi

stop() { as_user "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null 2>&1 || true; rm -rf "$folder" || true; }
trap stop EXIT

as_user "$bin/initdb" -D "$folder/data" -U convoke -A trust -E UTF8 --locale=C.UTF-8 >"$folder/initdb.log"

# A certificate for the name localhost from a test authority, and a second authority.
tls=$folder/tls
mkdir "$tls"
authority() {
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$tls/$1.key" -out "$tls/$1.pem" -days 2 -subj "/CN=$1" \
        -addext basicConstraints=critical,CA:TRUE 2>/dev/null
}
authority root
authority other
openssl req -newkey rsa:2048 -nodes -keyout "$tls/server.key" -out "$tls/server.csr" -subj /CN=localhost 2>/dev/null
openssl x509 -req -in "$tls/server.csr" -CA "$tls/root.pem" -CAkey "$tls/root.key" -CAcreateserial -days 2 \
    -out "$tls/server.pem" -extfile <(printf 'subjectAltName=DNS:localhost') 2>/dev/null
chmod 600 "$tls/server.key"
if [ "$(id -u)" = 0 ]; then chown -R postgres "$tls"; fi

cat >>"$folder/data/postgresql.conf" <<CONF
ssl = on
ssl_cert_file = '$tls/server.pem'
ssl_key_file = '$tls/server.key'
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$folder'
max_connections = 400
max_pred_locks_per_transaction = 256
fsync = on
deadlock_timeout = 10min
shared_buffers = 256MB
max_wal_size = 2GB
log_min_messages = fatal
CONF
if ! as_user "$bin/pg_ctl" -D "$folder/data" -l "$folder/server.log" -w -t 300 start >/dev/null; then
    cat "$folder/server.log" >&2
    exit 1
fi
export CONVOKE_TEST_POSTGRES="postgres://convoke@127.0.0.1:$port/postgres"
export CONVOKE_TEST_POSTGRES_TLS="$tls"
export CONVOKE_TEST_POSTGRES_DATA="$folder/data" CONVOKE_TEST_POSTGRES_BIN="$bin"

engine() { cargo test --workspace --test engine; }
# These tests mostly wait for standbys.
servers() { RUST_TEST_THREADS=${RUST_TEST_THREADS:-4} cargo test --workspace --test servers; }
nodes() { cargo test --workspace --test nodes; }
# The tests of the runtime's parts with tables of their own, each in a separate schema.
runtime() {
    CONVOKE_TEST_STORE="$CONVOKE_TEST_POSTGRES" RUST_TEST_THREADS=4 cargo test --workspace --test routes
    CONVOKE_TEST_STORE="$CONVOKE_TEST_POSTGRES" RUST_TEST_THREADS=4 cargo test --workspace --test it -- files:: webhooks:: workflow:: --skip borders --skip killed
}
# The tests of the application, each in a separate schema. They mostly wait for the server. The skipped tests do not
# depend on the engine. No test here stops the server, so it does not need to sync.
application() {
    as_user "$bin/psql" -q -h 127.0.0.1 -p "$port" -U convoke postgres -c "ALTER SYSTEM SET fsync = off" \
        -c "SELECT pg_reload_conf()" >/dev/null
    CONVOKE_TEST_STORE="$CONVOKE_TEST_POSTGRES" RUST_TEST_THREADS=8 cargo test --workspace --test application -- --skip codegen:: --skip rights::
}

case "${1:-all}" in
    all) engine && servers && nodes && runtime && application ;;
    engine | servers | nodes | runtime | application) "$1" ;;
    *) "$@" ;;
esac
