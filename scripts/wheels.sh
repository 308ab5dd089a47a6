#!/usr/bin/env bash
# Build a wheel per platform with zig, then install the one for this machine in a fresh environment and try it.
# Arguments: the Python to use, the folder for the wheels.
set -euo pipefail
python=$1
folder=$2
for target in linux-x86_64 linux-aarch64 macos-x86_64 macos-aarch64 windows-x86_64; do
    STEREOGAUGE_TARGET=$target "$python" -m build --wheel --outdir "$folder" >/dev/null
    echo "built $target"
done
ls -l "$folder"/*.whl
trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
"$python" -m venv "$trial/environment"
"$trial/environment/bin/python" -m pip install --quiet --disable-pip-version-check "$folder"/*manylinux*"$(uname -m)".whl
(cd "$trial" && environment/bin/stereogauge demo --out demo)
