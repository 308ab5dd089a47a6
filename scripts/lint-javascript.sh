#!/usr/bin/env bash
# Format and lint the JavaScript with the version of Biome that package.json names; with "--write", fix what can be
# fixed. Biome comes from npm into node_modules/ once, and again when package.json changes; where it cannot be had, one
# line says so and nothing fails.
set -uo pipefail
cd "$(dirname "$0")/.."
skip() {
    echo "JavaScript was not checked: $1." >&2
    exit 0
}
ready=node_modules/.stereogauge-ready
if [ ! -e "$ready" ] || ! cmp -s package.json "$ready"; then
    command -v node >/dev/null && command -v npm >/dev/null || skip "node and npm are not installed"
    npm install --no-package-lock --ignore-scripts --no-audit --no-fund --no-update-notifier --silent \
        --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=60000 >/dev/null 2>&1 ||
        skip "npm could not install the packages that package.json names"
    node_modules/.bin/biome --version >/dev/null 2>&1 || skip "Biome does not run on this machine"
    cp package.json "$ready"
fi
command -v node >/dev/null || skip "node is not installed"
node_modules/.bin/biome check --error-on-warnings "$@" || exit 1
# The formatter leaves long texts and comments as they are.
if LC_ALL=C.UTF-8 grep -rnE --include='*.js' '.{121}' src; then
    echo "The lines above are longer than 120 characters." >&2
    exit 1
fi
