# Builds the programs that the scripts start. Source it at the root of the repository.

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

# Builds the application and the server of the client tests with the features of `cargo test --workspace`, so that the
# scripts and the tests share one build.
build_programs() {
  cargo test --quiet --workspace --no-run --test data --example client_probes
}

# find_program [BINARY]: sets `binary` to BINARY, or builds the application.
find_program() {
  binary=${1:-}
  if [ -z "$binary" ]; then
    build_programs
    binary=$target/debug/convoke
  fi
}
