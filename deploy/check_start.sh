#!/usr/bin/env bash
# Checks the unit with systemd-analyze, the Dockerfiles with hadolint, and the compose files with their schema, the
# load balancers' configurations and, if installed, Docker. Needs systemd-analyze and haproxy (Debian's `systemd` and
# `haproxy`, which are installed if they are missing) and Python 3 with venv.
set -euo pipefail
cd "$(dirname "$0")/.."

source e2e/program.sh
need systemd-analyze --no-install-recommends systemd
need haproxy --no-install-recommends haproxy
tools=$target/deploy-tools
python_environment "$tools" -r deploy/check_requirements.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The check of the unit does not need an installed program.
sed 's#^ExecStart=[^ ]*#ExecStart=/bin/true#' deploy/convoke.service >"$work/convoke.service"
output=$(systemd-analyze verify "$work/convoke.service" 2>&1) || { echo "$output"; exit 1; }
# systemd only warns about an unknown key, which then has no effect.
if grep -q "convoke.service" <<<"$output"; then echo "$output"; exit 1; fi
# The exposure is between 0 (none) and 10 (full). The threshold is in tenths.
systemd-analyze security --offline=true --threshold=20 "$work/convoke.service" | tail -1
mkdir -p "$work/root/usr/lib/sysusers.d" "$work/root/etc"
cp deploy/convoke.sysusers "$work/root/usr/lib/sysusers.d/convoke.conf"
systemd-sysusers --dry-run --root="$work/root" >/dev/null 2>&1
"$tools/bin/hadolint" deploy/Dockerfile deploy/patroni/Dockerfile

"$tools/bin/check-jsonschema" --builtin-schema vendor.compose-spec deploy/compose.yaml deploy/compose.ha.yaml
"$tools/bin/python" deploy/check_compose.py
if docker compose version >/dev/null 2>&1; then
  for file in deploy/compose.yaml deploy/compose.ha.yaml; do
    CONVOKE_SETTINGS=./convoke.toml STORE_PASSWORD=x STORE_KEY=x DATABASE_ADMIN_PASSWORD=x DATABASE_REPLICATION_PASSWORD=x \
      docker compose --file "$file" config --quiet
  done
fi
# The names of the servers do not resolve here. The configuration allows that.
for file in deploy/haproxy.cfg deploy/haproxy.ha.cfg; do haproxy -c -q -f "$file"; done
echo "the unit, the Dockerfiles, the compose files and the load balancers' configurations are valid"
