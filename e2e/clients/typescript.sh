#!/usr/bin/env bash
# Compiles the generated TypeScript clients and the references for npm's `convex` in TypeScript's strictest mode, lints
# them, and runs them in Node.js against two real servers: the application, and functions that fail on purpose.
# Needs Node.js 20 (installed with apt-get if missing) and the package index. Usage: e2e/clients/typescript.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
source e2e/clients/servers.sh

need npm nodejs npm
build_programs

work=$target/clients/typescript
mkdir -p "$work"
cp e2e/clients/typescript/* e2e/clients/sync/server.js "$work"
cp examples/typescript/client.ts "$work/example.ts"
sed -i 's|"./convoke.js"|"./application.js"|' "$work/example.ts"
(cd "$work" && npm_install ci)

for program in application probes; do
  "${!program}" codegen typescript --out "$work/$program.ts"
  "${!program}" codegen convex --out "$work/$program-api.ts"
done

# Compiles with the common compiler and with its successor.
(cd "$work" && npx tsc -p . && node node_modules/typescript-7/bin/tsc -p . --noEmit && npx eslint application.ts application-api.ts probes.ts probes-api.ts example.ts)

start "$application"; application_url=$url application_data=$data
start "$probes"
probes_url=$url probes_data=$data
token_of() { (cd "$1" && "$2" token --subject "$3" --email "$3@example.com"); }
export APPLICATION=$application_url PROBES=$probes_url PROBES_BINARY=$probes
export APPLICATION_TOKEN APPLICATION_GUEST PROBES_TOKEN
APPLICATION_TOKEN=$(token_of "$application_data" "$application" ada)
APPLICATION_GUEST=$(token_of "$application_data" "$application" bob)
PROBES_TOKEN=$(token_of "$probes_data" "$probes" ada)
# One file at a time: they share the servers.
(cd "$work" && node --test --test-concurrency=1 --test-force-exit --test-reporter=spec out/client.test.js out/references.test.js watch.test.js)
node "$work/out/example.js" "$application_url" "$(token_of "$application_data" "$application" grace)"
echo "typescript: the generated clients compile, and work against the servers"
