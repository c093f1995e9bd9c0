#!/usr/bin/env bash
# A cluster of PostgreSQL with Patroni, etcd and HAProxy in the folder CONVOKE_TEST_CLUSTER_FOLDER.
# Usage: cluster.sh start | stop | leader | is_whole | report | ACTION NUMBER
# ACTION is one of:
#   kill      ends a server and its Patroni as by a loss of power; `begin` starts both again
#   freeze    stops all their processes; `thaw` continues them
#   cut       separates their network from the others; `mend` joins it again
#   switch    makes another server the primary, in order
set -euo pipefail

folder=$CONVOKE_TEST_CLUSTER_FOLDER
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
servers="1 2 3"
is_root() { [ "$(id -u)" = 0 ]; }
# PostgreSQL refuses to run as root.
as_user() { if is_root; then setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; else "$@"; fi; }

# ---- The network: a bridge with a namespace for each server, or ports of the loopback interface ----

has_namespaces() { [ -e "$folder/namespaces" ]; }
tag() { basename "$folder" | sed 's/.*\.//' | cut -c 1-6; }
bridge() { echo "cv$(tag)"; }
namespace() { echo "cv$(tag)-$1"; }
link() { echo "cv$(tag)$1"; }
subnet() { echo "10.$((1 + $(cksum <<<"$(tag)" | cut -d ' ' -f 1) % 250)).77"; }
host() { if has_namespaces; then echo "$(subnet).1$1"; else echo 127.0.0.1; fi; }
here() { if has_namespaces; then echo "$(subnet).1"; else echo 127.0.0.1; fi; }
port() { echo $(($(cat "$folder/ports") + $1)); }
inside() {
    local number=$1
    shift
    if has_namespaces; then ip netns exec "$(namespace "$number")" "$@"; else "$@"; fi
}

make_network() {
    is_root && ip link add name "$(bridge)" type bridge 2>/dev/null || return 0
    touch "$folder/namespaces"
    ip address add "$(subnet).1/24" dev "$(bridge)"
    ip link set "$(bridge)" up
    for number in $servers; do
        ip netns add "$(namespace "$number")"
        ip link add "$(link "$number")" type veth peer name inner netns "$(namespace "$number")"
        ip link set "$(link "$number")" master "$(bridge)" up
        inside "$number" ip address add "$(host "$number")/24" dev inner
        inside "$number" ip link set inner up
        inside "$number" ip link set lo up
    done
}

# ---- The servers ----

patroni_settings() {
    local number=$1
    cat <<YAML
scope: convoke
name: server$number
restapi:
  listen: $(host "$number"):$(port "1$number")
  connect_address: $(host "$number"):$(port "1$number")
etcd3:
  hosts: $(here):$(port 1)
bootstrap:
  dcs:
    ttl: 10
    loop_wait: 2
    retry_timeout: 3
    maximum_lag_on_failover: 1048576
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters:
        max_connections: 300
        max_pred_locks_per_transaction: 256
        wal_keep_size: 256MB
  initdb:
    - encoding: UTF8
    - locale: C.UTF-8
    - data-checksums
  pg_hba:
    - local all all trust
    - host all all 0.0.0.0/0 trust
    - host replication all 0.0.0.0/0 trust
postgresql:
  listen: $(host "$number"):$(port "2$number")
  connect_address: $(host "$number"):$(port "2$number")
  data_dir: $folder/data$number
  bin_dir: $bin
  pgpass: $folder/pgpass$number
  authentication:
    superuser: { username: convoke, password: unused }
    replication: { username: replicator, password: unused }
  parameters:
    unix_socket_directories: ''
    log_min_messages: fatal
YAML
}

# Keeps the descriptors of the caller closed: who reads its output would wait for the end of the server.
begin() {
    inside "$1" setsid "$0" patroni "$1" </dev/null >>"$folder/patroni$1.log" 2>&1 &
}

run_patroni() {
    echo $$ >"$folder/patroni$1.pid"
    cd /
    # Clients of PostgreSQL look for certificates in the home folder, which must be readable.
    export HOME=$folder
    if is_root; then
        exec setpriv --reuid=postgres --regid=postgres --clear-groups -- patroni "$folder/patroni$1.yml"
    fi
    exec patroni "$folder/patroni$1.yml"
}

# The processes of a server: Patroni, which starts again what ends, before the server's own.
processes() {
    cat "$folder/patroni$1.pid" 2>/dev/null || true
    local postmaster
    postmaster=$(head -1 "$folder/data$1/postmaster.pid" 2>/dev/null) || return 0
    echo "$postmaster"
    pgrep -P "$postmaster" || true
}
signal() {
    local process
    for process in $(processes "$2"); do kill -s "$1" "$process" 2>/dev/null || true; done
}

leader() {
    local number
    for number in $servers; do
        if curl -s -o /dev/null -f --max-time 1 "http://$(host "$number"):$(port "1$number")/primary"; then
            echo "$number"
            return 0
        fi
    done
    return 1
}

# It is whole when a standby confirms the commits and every other server follows.
is_whole() {
    local number members
    number=$(leader) || return 1
    members=$(curl -s --max-time 1 "http://$(host "$number"):$(port "1$number")/cluster") || return 1
    [ "$(grep -o '"state": "\(running\|streaming\)"' <<<"$members" | wc -l)" = 3 ] && grep -q '"role": "sync_standby"' <<<"$members"
}

# Shows what Patroni knows, and the last lines of its logs.
report() {
    local number
    for number in $servers; do
        curl -s --max-time 1 "http://$(host "$number"):$(port "1$number")/cluster" && echo && break
    done
    tail -n 15 "$folder"/patroni*.log
}

# Makes another server the primary. Patroni refuses until it has noted the synchronous standby.
switch() {
    local said
    for _ in $(seq 300); do
        said=$(curl -s --max-time 30 -d "{\"leader\": \"server$1\"}" "http://$(host "$1"):$(port "1$1")/switchover") || true
        if grep -qi "switched over" <<<"$said"; then return 0; fi
        sleep 0.2
    done
    echo "failover: no switchover: $said" >&2
    return 1
}

haproxy_settings() {
    cat <<CFG
global
  maxconn 2000
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 1s
listen postgres
  bind $(here):$(port 2)
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
CFG
    for number in $servers; do
        echo "  server server$number $(host "$number"):$(port "2$number") maxconn 500 check port $(port "1$number")"
    done
}

start() {
    mkdir -p "$folder/etcd"
    chmod 755 "$folder"
    # Below the ports that the system gives to other processes.
    echo $((10000 + RANDOM % 220 * 100)) >"$folder/ports"
    make_network
    if is_root; then chown -R postgres "$folder"; fi
    local url
    url=http://$(here):$(port 1)
    as_user etcd --data-dir "$folder/etcd" --listen-client-urls "$url" --advertise-client-urls "$url" \
        --listen-peer-urls "http://$(here):$(port 3)" --initial-advertise-peer-urls "http://$(here):$(port 3)" \
        --initial-cluster "default=http://$(here):$(port 3)" --unsafe-no-fsync </dev/null >"$folder/etcd.log" 2>&1 &
    echo $! >"$folder/etcd.pid"
    for number in $servers; do
        patroni_settings "$number" >"$folder/patroni$number.yml"
        begin "$number"
    done
    haproxy_settings >"$folder/haproxy.cfg"
    haproxy -f "$folder/haproxy.cfg" -db </dev/null >"$folder/haproxy.log" 2>&1 &
    echo $! >"$folder/haproxy.pid"

    local hosts=
    for number in $servers; do hosts+=${hosts:+,}$(host "$number"):$(port "2$number"); done
    {
        echo "export CONVOKE_TEST_POSTGRES='postgres://convoke@$hosts/postgres?target_session_attrs=read-write&connect_timeout=3&sslmode=disable'"
        echo "export CONVOKE_TEST_POSTGRES_PROXY='postgres://convoke@$(here):$(port 2)/postgres?connect_timeout=3&sslmode=disable'"
        echo "export CONVOKE_TEST_POSTGRES_BIN='$bin'"
        has_namespaces && echo "export CONVOKE_TEST_CLUSTER_CUTS=1"
    } >"$folder/environment" || true
    for _ in $(seq 1500); do
        if is_whole; then return 0; fi
        sleep 0.2
    done
    report >&2
    echo "failover: the cluster is not whole after five minutes" >&2
    return 1
}

stop() {
    local number
    for number in $servers; do signal KILL "$number"; done
    for name in haproxy etcd; do kill -9 "$(cat "$folder/$name.pid" 2>/dev/null)" 2>/dev/null || true; done
    if has_namespaces; then
        for number in $servers; do ip netns del "$(namespace "$number")" 2>/dev/null || true; done
        ip link del "$(bridge)" 2>/dev/null || true
    fi
}

case "$1" in
    start | stop | leader | is_whole | report) "$1" ;;
    begin) begin "$2" ;;
    patroni) run_patroni "$2" ;;
    kill) signal KILL "$2" ;;
    freeze) signal STOP "$2" ;;
    thaw) signal CONT "$2" ;;
    cut) ip link set "$(link "$2")" down ;;
    mend) ip link set "$(link "$2")" up ;;
    switch) switch "$2" ;;
    *) echo "cluster.sh: no action $1" >&2 && exit 2 ;;
esac
