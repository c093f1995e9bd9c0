#!/usr/bin/env bash
# Runs npm's `convex` through each proxy of the operator's guide: calls, live queries, server-sent events, and WebSockets
# of pages. Each proxy has the configuration of the guide, and listens with TLS on port 443 and on port 8443.
# Needs Node.js 20, nginx, HAProxy, Caddy, OpenSSL (all are installed with apt-get if missing) and the npm registry.
# Usage: e2e/clients/proxies.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
source e2e/clients/servers.sh

work=$target/clients/proxies
if [ "${1:-}" != --in-network ]; then
  need npm nodejs npm
  need nginx nginx
  need haproxy haproxy
  need caddy caddy
  need openssl openssl
  need ip iproute2
  build_programs
  mkdir -p "$work"
  cp e2e/clients/sync/package*.json e2e/clients/proxies/* "$work"
  (cd "$work" && npm_install ci)
  # A separate network, in which port 443 is free.
  [ "$(id -u)" = 0 ] || as_root=--map-root-user
  exec unshare ${as_root:-} --net "$0" --in-network
fi
ip link set lo up

conf=$(mktemp -d)
folders+=("$conf")
(
  cd "$conf"
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=test" -keyout ca.key -out ca.pem 2>/dev/null
  openssl req -newkey rsa:2048 -nodes -subj "/CN=api.example.com" -keyout privkey.pem -out request.pem 2>/dev/null
  openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
    -extfile <(echo "subjectAltName=DNS:api.example.com") -out fullchain.pem 2>/dev/null
  cat fullchain.pem privkey.pem >api.pem
)

start "$probes" --trusted-proxy 127.0.0.1/32

# block LANGUAGE PORT: prints the configuration of the guide with the paths and ports of this test, and with the name that an
# option has in Caddy 2.6.2, the version of Debian 12.
block() {
  awk -v word="\`\`\`$1" '$0 == word { shown = 1; next } /^```$/ { shown = 0 } shown' docs/how-to/proxy.md |
    sed "s#/etc/$1/tls/#$conf/#g; s#127.0.0.1:3210#${url#http://}#; s#listen 443#listen $2#; s#bind :443#bind :$2#; s#^api.example.com {#api.example.com:$2 {#" |
    case $(caddy version) in 2.6.[0-2]*) sed "s/request_buffers .*/buffer_requests/" ;; *) cat ;; esac
}

# is_open PORT PID: succeeds if the port is open, or the process has ended.
is_open() {
  (: >"/dev/tcp/127.0.0.1/$1") 2>/dev/null || ! kill -0 "$2" 2>/dev/null
}

# proxy COMMAND …: starts a proxy in the background.
proxy() {
  "$@" >"$conf/log" 2>&1 &
  running=$!
  servers+=("$running")
}

for port in 443 8443; do
  for name in nginx caddy haproxy; do
    case $name in
    nginx)
      {
        echo "pid $conf/nginx.pid; error_log stderr; user root; events {} http { access_log off;"
        for folder in client_body proxy fastcgi uwsgi scgi; do echo "${folder}_temp_path $conf/$folder;"; done
        block nginx $port
        echo "}"
      } >"$conf/nginx.conf"
      proxy nginx -p "$conf" -c "$conf/nginx.conf" -g "daemon off;"
      ;;
    caddy)
      { echo "{ admin off
        auto_https disable_redirects
        storage file_system $conf/caddy
        }" && block caddy $port; } >"$conf/Caddyfile"
      proxy caddy run --adapter caddyfile --config "$conf/Caddyfile"
      ;;
    haproxy)
      block haproxy $port >"$conf/haproxy.cfg"
      proxy haproxy -db -f "$conf/haproxy.cfg"
      ;;
    esac
    await is_open "$port" "$running"
    suffix=$([ "$port" = 443 ] || echo ":$port")
    (cd "$work" && NODE_EXTRA_CA_CERTS=$conf/ca.pem PROXY=https://api.example.com$suffix PROXY_NAME="$name on $port" \
      node --test --test-force-exit --test-reporter=spec proxies.test.js) || { cat "$conf/log" >&2; exit 1; }
    kill "$running"
    wait "$running" 2>/dev/null || true
  done
done
echo "proxies: npm's client works through nginx, Caddy and HAProxy as the guide sets them up"
