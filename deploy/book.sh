#!/usr/bin/env bash
# Builds the site of the documentation into a folder: the book, and the API documentation below `api/`.
# Any web server for files can serve the folder. `.github/workflows/book.yml` publishes it with each release.
# An existing folder is replaced at the end, so that a server never has half of a site. Usage: deploy/book.sh FOLDER
set -euo pipefail
[ $# = 1 ] || { echo "usage: deploy/book.sh FOLDER" >&2; exit 2; }
site=$(realpath -m "$1")
cd "$(dirname "$0")/.."
# Another folder may be named by mistake, and would be removed.
if [ -e "$site" ] && [ ! -e "$site/api/convoke/index.html" ]; then
  echo "book: $site exists and is not a site of this script; remove it, or name another folder" >&2
  exit 1
fi

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
docs/build.sh
cargo doc --quiet --workspace --no-deps

mkdir -p "$(dirname "$site")"
new=$(mktemp -d "$site.XXXXXX")
trap 'rm -rf "$new"' EXIT
cp -r "$target/book/." "$new"
cp -r "$target/doc" "$new/api"
rm -f "$new/api/.lock"
chmod 755 "$new"
rm -rf "$site"
mv "$new" "$site"
echo "book: $site has the book and, below api/, the documentation of the crates"
