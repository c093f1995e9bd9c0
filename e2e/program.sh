# Builds the programs that the scripts start. Source it at the root of the repository.

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

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
