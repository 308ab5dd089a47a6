#!/usr/bin/env bash
# Make the virtual environment and install the package with everything that its tests need.
set -euo pipefail
python=$1
venv=$2
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
# uv resolves and installs several times faster; pip does the same where uv cannot be had.
if "$venv/bin/python" -m pip install --quiet --disable-pip-version-check uv; then
    "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" -e '.[dev]'
else
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -e '.[dev]'
fi
