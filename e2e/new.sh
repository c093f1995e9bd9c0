#!/usr/bin/env bash
# The first hour: installs the tool `convoke`, makes a program of each template in an empty folder, and builds, tests and
# checks it as its author and its workflow do. For the template `react` the commands and the edits are those of the
# tutorial's first chapter; the page runs in a browser while the functions change. Prints the seconds of each step. Needs
# Node.js 20, Chromium (both are installed with apt-get if missing) and the package indexes.
# Usage: e2e/new.sh [minimal|react]...
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD
source e2e/program.sh
[ $# -gt 0 ] || set -- minimal react

export CHAPTER=$root/docs/tutorial/start.md
# Runs the command of the chapter that begins with the first argument, with the further arguments, which only a test needs.
step() {
  local command start=$SECONDS
  command=$(sed -n "s/^\$ \($1.*\)/\1/p" "$CHAPTER" | head -1)
  [ -n "$command" ] || { echo "new: the chapter lacks '$1'" >&2; exit 1; }
  eval "$command" "${@:2}" || return
  echo "$command: $((SECONDS - start)) s"
}

tree=$(cargo tree --quiet --locked --manifest-path runtime/cli/Cargo.toml --edges normal --prefix none)
if grep -E '^(convoke-core|tokio|hyper) ' <<<"$tree"; then
  echo "new: the tool contains the runtime, so its installation takes minutes" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Its own build folder: the application's binary has the same name.
(
  export CARGO_TARGET_DIR=$target/new
  cd runtime/cli
  cargo fmt --check
  cargo clippy --quiet --locked --all-targets -- -D warnings
  cargo test --quiet --locked
)
CARGO_TARGET_DIR=$target/new step "cargo install" --quiet --debug --root '"$work/tool"'
PATH=$work/tool/bin:$PATH
convoke --version

# The programs share the compiled dependencies of the workspace, in the versions of its lock file.
export CARGO_TARGET_DIR=$target CARGO_NET_OFFLINE=true
for template in "$@"; do
  cd "$work"
  if [ "$template" = react ]; then
    step "convoke new"
    step "cd"
  else
    convoke new "new-$template" --template "$template"
    cd "new-$template"
  fi
  cp "$root/Cargo.lock" .
  cargo fmt --check
  cargo test --quiet
  convoke run books/add '{"title": "SICP"}' 2>/dev/null
  convoke run books/list 2>/dev/null | grep '"title": *"SICP"' >/dev/null
  [ "$template" = react ] || continue
  need npm nodejs npm
  need chromium chromium
  convoke codegen convex --out web/src/api.ts --check
  cd web
  again step "npm install" --loglevel=error --no-audit --no-fund --prefer-offline
  npm run --silent build -- --logLevel warn
  npm_install install --no-save playwright-core@1.65.1
  cp "$root/e2e/new/page.test.mjs" .
  node --test --test-force-exit --test-reporter=spec page.test.mjs
  # The functions that the browser saw pass the tests, too.
  cd ..
  step "cargo test" --quiet
done
echo "new: each template builds and passes its tests: $*"
