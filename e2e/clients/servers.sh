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

# Limits of a server that has little of the processor. A debug build on a busy machine takes seconds for a long result.
patient='[limits]
query_timeout = "1m"
mutation_timeout = "1m"'

# listens LOG PID: sets `url` to the address of a server. Succeeds with an empty `url` if the process has ended.
listens() {
  url=$(sed -n 's/^convoke: listening on //p' "$1" 2>/dev/null)
  [ -n "$url" ] || ! kill -0 "$2" 2>/dev/null
}

# start BINARY [FLAG …]: starts a server on a free port, and sets `url` to its address and `data` to its folder.
start() {
  local binary=$1
  shift
  data=$(mktemp -d)
  folders+=("$data")
  echo "$patient" >"$data/convoke.toml"
  (cd "$data" && exec "$binary" dev --listen 127.0.0.1:0 "$@" 2>server.log) &
  servers+=($!)
  await listens "$data/server.log" "$!" && [ -n "$url" ] && return
  cat "$data/server.log" >&2
  return 1
}

# storage_listens LOG PID: like `listens`, for the storage.
storage_listens() {
  storage=$(sed -n 's/^ \* Running on \(http.*\)/\1/p' "$1")
  [ -n "$storage" ] || ! kill -0 "$2" 2>/dev/null
}

# start_storage VENV REQUIREMENTS BUCKET: starts moto's S3-compatible storage with an empty bucket, and sets `storage` to its
# address. Installs the packages, moto among them, into the virtual environment, and sets the access of servers.
start_storage() {
  local log
  python_environment "$1" -r "$2"
  log=$(mktemp -d)
  folders+=("$log")
  log=$log/storage.log
  "$1/bin/moto_server" -H 127.0.0.1 -p 0 >"$log" 2>&1 &
  servers+=($!)
  await storage_listens "$log" "$!" && [ -n "$storage" ] || { cat "$log" >&2; return 1; }
  curl -sSf -X PUT "$storage/$3" >/dev/null
  export CONVOKE_SECRET_S3_ACCESS_KEY_ID=test CONVOKE_SECRET_S3_SECRET_ACCESS_KEY=test
}
