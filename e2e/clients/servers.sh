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

# start_storage VENV REQUIREMENTS BUCKET: starts moto's S3-compatible storage with an empty bucket, and sets `storage` to its
# address. Installs the packages, moto among them, into the virtual environment, and sets the access of servers.
start_storage() {
  local venv=$1 port
  [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$2"
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  "$venv/bin/moto_server" -H 127.0.0.1 -p "$port" 2>/dev/null &
  servers+=($!)
  storage=http://127.0.0.1:$port
  for _ in $(seq 100); do curl -s "$storage" >/dev/null && break || sleep 0.1; done
  curl -s -X PUT "$storage/$3" >/dev/null
  export CONVOKE_SECRET_S3_ACCESS_KEY_ID=test CONVOKE_SECRET_S3_SECRET_ACCESS_KEY=test
}
