#!/usr/bin/env bash
# Make an environment with CNES Pandora, the peer of `python -m benchmarks pandora`: it pins libraries of its own.
set -euo pipefail
folder=${1:?"usage: scripts/pandora-environment.sh FOLDER [PYTHON]"}
python=${2:-python3}
[ -x "$folder/bin/python" ] || "$python" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check pandora pandora-plugin-libsgm
"$folder/bin/python" -c "import pandora; pandora.import_plugin()"
echo "export STEREOGAUGE_PANDORA_PYTHON=$(cd "$folder" && pwd)/bin/python"
