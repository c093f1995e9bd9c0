# Builds the programs that the scripts start, and installs the packages that they need. Source it at the root of the
# repository.

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
scripts=$PWD/e2e

# Builds the application and the server of the clients' tests. A named example gives dependencies the features that they
# have in `cargo test --workspace`, so that one build serves the scripts and the tests. `cargo test --no-run` would give
# the example another name.
build_programs() {
  cargo build --quiet --workspace --bins --example client_probes
}

# find_program [BINARY]: sets `binary` to BINARY, or builds the application.
find_program() {
  binary=${1:-}
  if [ -z "$binary" ]; then
    build_programs
    binary=$target/debug/convoke
  fi
}

# await COMMAND …: repeats a command until it succeeds. The limit of five minutes ends a wait that has no end, on a busy
# machine too.
await() {
  local end=$((SECONDS + 300))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || { echo "await: no success within five minutes: $*" >&2; return 1; }
    sleep 0.1
  done
}

# again COMMAND …: runs a command up to three times until it succeeds, because a package index may fail for a moment.
again() {
  local try
  for try in 1 2 3; do
    "$@" && return
    [ "$try" = 3 ] || { echo "again: $* failed; next try in $((try * 10)) s" >&2; sleep $((try * 10)); }
  done
  return 1
}

# need COMMAND PACKAGE …: installs Debian's packages if the command is missing.
need() {
  command -v "$1" >/dev/null || install_packages "${@:2}"
}

# install_packages [OPTION …] PACKAGE …: installs Debian's packages. Concurrent scripts wait for each other.
install_packages() {
  { flock 9 && again apt_install "$@" 9<&-; } 9<"$scripts"
}

apt_install() {
  apt-get update -qq -o Acquire::Retries=3 &&
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600 "$@" >/dev/null
}

# npm_install WORD …: runs an installing command of npm. It prints only errors.
npm_install() {
  again npm "$@" --loglevel=error --no-audit --no-fund --prefer-offline >/dev/null
}

# python_environment FOLDER WORD …: makes a virtual environment if the folder has none, and runs `pip install WORD …` in it.
python_environment() {
  python3 -c 'import ensurepip' 2>/dev/null || install_packages python3 python3-venv
  [ -x "$1/bin/pip" ] || python3 -m venv "$1"
  again "$1/bin/pip" install --quiet --disable-pip-version-check "${@:2}"
}
