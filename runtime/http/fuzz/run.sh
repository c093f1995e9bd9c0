#!/usr/bin/env bash
# Fuzzes the strict HTTP/1 reader for a number of seconds (default 60): `runtime/http/fuzz/run.sh
# 3600`. Needs a C compiler, and installs cargo-fuzz into the build folder. Uses no sanitizer,
# because only nightly toolchains have one and the reader has no unsafe code.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/../../target}
export CARGO_TARGET_DIR=$target/fuzz
tools=$target/tools
PATH=$tools/bin:$PATH
if ! cargo fuzz --version 2>/dev/null | grep -qx "cargo-fuzz 0.13.2"; then
    CARGO_TARGET_DIR=$target/tools/build cargo install --quiet --debug --locked --version 0.13.2 --root "$tools" cargo-fuzz
fi
# Use the versions of the workspace.
cp ../../Cargo.lock fuzz/Cargo.lock
# New inputs are stored for the next run on this machine, not in the repository.
mkdir -p "$target/fuzz/corpus"
cargo fuzz run --dev --sanitizer none http1 "$target/fuzz/corpus" fuzz/corpus/http1 -- \
    -max_total_time="${1:-60}" -max_len=4096 -timeout=10 -verbosity=0 -print_final_stats=1
