#!/usr/bin/env bash
# Make the virtual environment and install the package with everything that its tests need.
set -euo pipefail
python=$1
venv=$2
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"

# uv resolves and installs several times faster; pip does the same where uv cannot be had.
install() {
    if [ -x "$venv/bin/uv" ]; then
        "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" "$@" -e '.[dev]'
    else
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" -e '.[dev]'
    fi
}

"$venv/bin/python" -m pip install --quiet --disable-pip-version-check uv || true
# The versions of constraints.txt are those that everything was tested with; some of them need a newer Python than we do.
if ! install --constraint constraints.txt; then
    echo "$0: constraints.txt cannot be met with this Python; the newest versions that fit are installed instead." >&2
    install
fi
