#!/usr/bin/env bash
# Builds the book into target/book: `docs/build.sh`. Installs mdbook into the build folder if it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
tools=$target/tools
version=0.5.4
if ! "$tools/bin/mdbook" --version 2>/dev/null | grep -qx "mdbook v$version"; then
  CARGO_TARGET_DIR=$tools/build cargo install --quiet --debug --locked --no-default-features --version "$version" --root "$tools" mdbook
fi
"$tools/bin/mdbook" build --dest-dir "$target/book" docs
