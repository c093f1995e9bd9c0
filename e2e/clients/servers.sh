# Starts servers for the client tests. Source it at the root of the repository.

source e2e/program.sh
application=$target/debug/convoke
probes=$target/debug/examples/client_probes
servers=()
folders=()

# Stops all servers and removes their folders.
finish() {
  for server in "${servers[@]}"; do kill "$server" 2>/dev/null || true; done
  wait
  for folder in "${folders[@]}"; do rm -rf "$folder"; done
}
trap finish EXIT

# need COMMAND PACKAGE …: installs the packages if the command is missing.
need() {
  command -v "$1" >/dev/null || { apt-get update -qq && apt-get install -qq -y "${@:2}" >/dev/null; }
}

# start BINARY [FLAG …]: starts a server on a free port, and sets `url` to its address and `data` to its folder.
start() {
  local binary=$1
  shift
  data=$(mktemp -d)
  folders+=("$data")
  (cd "$data" && exec "$binary" dev --listen 127.0.0.1:0 "$@" 2>server.log) &
  servers+=($!)
  for _ in $(seq 600); do
    url=$(sed -n 's/^convoke: listening on //p' "$data/server.log" 2>/dev/null || true)
    [ -n "$url" ] && return
    sleep 0.1
  done
  cat "$data/server.log" >&2
  return 1
}
