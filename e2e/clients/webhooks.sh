#!/usr/bin/env bash
# Signs webhooks with the libraries of their senders, and reads a calendar with two calendar programs.
# Needs Node.js 20 (installed with apt-get if missing) and the package index.
# Usage: e2e/clients/webhooks.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
source e2e/clients/servers.sh

need npm nodejs npm
build_programs

work=$target/clients/webhooks
mkdir -p "$work"
cp e2e/clients/webhooks/* "$work"
(cd "$work" && npm_install ci)

export PAYMENTS_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw STRIPE_SECRET=whsec_of_stripe
export GITHUB_SECRET="It's a Secret to Everybody" PARTNER_SECRET=partner
export CONVOKE_SECRET_PAYMENTS_SECRET=$PAYMENTS_SECRET CONVOKE_SECRET_STRIPE_SECRET=$STRIPE_SECRET
export CONVOKE_SECRET_GITHUB_SECRET=$GITHUB_SECRET CONVOKE_SECRET_PARTNER_SECRET=$PARTNER_SECRET
start "$target/debug/shop"
export SHOP=$url

export LIVEKIT_KEY=key1 LIVEKIT_SECRET="the secret of key1, which is long enough"
export CONVOKE_SECRET_LIVEKIT_API_SECRET=$LIVEKIT_SECRET
settings=$(mktemp)
trap 'rm -f "$settings"; finish' EXIT
printf '[livekit]\nurl = "wss://media.example.org"\napi_key = "key1"\n%s\n' "$patient" >"$settings"
start "$application" --config "$settings"
export APPLICATION=$url TOKEN
TOKEN=$(cd "$data" && "$application" token --subject ada --email ada@example.com)
(cd "$work" && node --test --test-force-exit --test-reporter=spec client.test.js)
echo "webhooks: the libraries of the senders sign events that the server accepts, and two programs read the calendar"
