#!/usr/bin/env bash
# Uploads and reads files with unchanged clients: `fetch` as front ends of Convex use it, tus-js-client, and curl. Then kills
# a server during uploads, fills its disk, and checks that every row has its bytes.
# Needs Node.js 20, Python 3 and curl (all are installed with apt-get if missing) and the package index of npm. If LAZYFS names
# the program of LazyFS, the server also loses its power during uploads, which needs root.
# Usage: [LAZYFS=…] e2e/clients/files.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
source e2e/clients/servers.sh

need npm nodejs npm
need python3 python3
need curl curl
build_programs

work=$target/clients/files
mkdir -p "$work"
cp e2e/clients/files/* "$work"
(cd "$work" && npm_install ci)

start "$application"
export APPLICATION=$url APPLICATION_TOKEN
APPLICATION_TOKEN=$(cd "$data" && "$application" token --subject ada --email ada@example.com)

(cd "$work" && node --test --test-force-exit --test-reporter=dot files.test.js)
python3 "$work/kills.py" "$application" 20
[ -z "${LAZYFS:-}" ] || python3 "$work/kills.py" "$application" 20 "$LAZYFS"
python3 "$work/full_disk.py" "$application"
echo "files: fetch, tus-js-client and curl work unchanged"
