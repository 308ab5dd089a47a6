#!/usr/bin/env bash
# Chromium, PostgreSQL, Caddy and nginx for the tests that use the real things, and with the argument "tex" a LaTeX. Where they can
# neither be found nor installed, those tests skip and say so.
set -uo pipefail
missing=()
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium)
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing+=(postgresql)
for proxy in caddy nginx; do
    command -v "$proxy" >/dev/null || [ -x "/usr/sbin/$proxy" ] || missing+=("$proxy")
done
[ "${1:-}" = tex ] && ! command -v pdflatex >/dev/null && missing+=(texlive-latex-base texlive-latex-recommended)
[ ${#missing[@]} -eq 0 ] && exit 0
if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    echo "installing system packages: ${missing[*]}" >&2
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}") >/dev/null 2>&1 ||
        echo "could not install ${missing[*]}: the tests that need them will skip" >&2
    for proxy in caddy nginx; do # tests start their own; the packages' services serve nothing here
        [[ " ${missing[*]} " == *" $proxy "* ]] && systemctl disable --now "$proxy" >/dev/null 2>&1
    done
else
    echo "not found and not installable here: ${missing[*]}: the tests that need them will skip" >&2
fi
exit 0
