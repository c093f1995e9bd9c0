#!/usr/bin/env bash
# Fetches the libraries of the table in README.md from npm and replaces the files beside this script, or compares them
# with those of npm. Usage: update.sh [--check]
set -euo pipefail
cd "$(dirname "$0")"

into=.
if [ "${1:-}" = --check ]; then
  into=$(mktemp -d)
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

version() { sed -n "s/^| \`$1\` | \([0-9.]*\) .*/\1/p" README.md; }
fetch() {
  local version
  version=$(version "$1")
  mkdir "$work/$1"
  (cd "$work/$1" && npm pack --silent "$1@${version:?}" >/dev/null && tar xzf ./*.tgz)
  echo "$1 $version $(sha256sum "$work/$1"/*.tgz | cut -d' ' -f1)"
  cp "$work/$1/package/LICENSE" "$into/LICENSE.$1"
}
# The page has no import map and needs no source maps.
module() { sed -e 's#from *"preact"#from"./preact.js"#' -e 's#//\# sourceMappingURL=.*##' "$1"; }

for package in preact htm uplot; do fetch "$package"; done
module "$work/preact/package/dist/preact.mjs" >"$into/preact.js"
module "$work/preact/package/hooks/dist/hooks.mjs" >"$into/hooks.js"
module "$work/htm/package/dist/htm.mjs" >"$into/htm.js"
cp "$work/uplot/package/dist/uPlot.min.css" "$into/uPlot.css"
if [ "$into" = . ]; then
  gzip -9nc "$work/uplot/package/dist/uPlot.esm.js" >uPlot.js.gz
  sha256sum ./*.js ./*.gz ./*.css | sed 's# \./# #' >SHA256SUMS
else
  for file in preact.js hooks.js htm.js uPlot.css LICENSE.preact LICENSE.htm LICENSE.uplot; do
    cmp "$file" "$into/$file"
  done
  cmp <(gzip -dc uPlot.js.gz) "$work/uplot/package/dist/uPlot.esm.js"
  rm -rf "$into"
fi
