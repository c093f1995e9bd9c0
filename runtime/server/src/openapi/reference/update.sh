#!/usr/bin/env bash
# Fetches Swagger UI from npm and replaces the files beside this script, or compares them with those of npm.
# Usage: update.sh VERSION | --check
set -euo pipefail
cd "$(dirname "$0")"

version=${1:?which version? e.g. 5.35.0, or --check}
into=.
if [ "$version" = --check ]; then
  version=$(sed -n 's/.*`swagger-ui-dist` \([0-9.]*\).*/\1/p' README.md)
  into=$(mktemp -d)
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent "swagger-ui-dist@$version" >/dev/null && tar xzf swagger-ui-dist-*.tgz)
for file in swagger-ui-bundle.js swagger-ui.css; do
  gzip -9nc "$work/package/$file" >"$into/$file.gz"
done
cp "$work"/package/{LICENSE,NOTICE,swagger-ui-bundle.js.LICENSE.txt} "$into/"
(cd "$into" && sha256sum ./*.gz | sed 's# \./# #' >SHA256SUMS)

if [ "$into" != . ]; then
  for file in swagger-ui-bundle.js swagger-ui.css; do
    # The digest of the compressed file depends on the gzip; that of its content does not.
    cmp <(gzip -dc "$file.gz") <(gzip -dc "$into/$file.gz")
  done
  rm -rf "$into"
fi
echo "swagger-ui-dist $version"
sha256sum "$work"/swagger-ui-dist-*.tgz | cut -d' ' -f1
