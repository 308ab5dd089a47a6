#!/usr/bin/env bash
# Run the tests of the native kernels with a library that checks every access and every undefined operation.
# Arguments: the Python to use, then those of pytest (default: all tests of kernels).
set -euo pipefail
python=$1
shift
[ $# -gt 0 ] || set -- tests/kernels
folder=build/sanitized
compiler=${CXX:-c++}
runtimes=()
for name in libasan.so libubsan.so; do
    path=$("$compiler" -print-file-name="$name" 2>/dev/null || true)
    [ -e "$path" ] && runtimes+=("$path")
done
if [ ${#runtimes[@]} -ne 2 ]; then
    echo "skipped: $compiler has no address and undefined-behaviour sanitizers" >&2
    exit 0
fi
"$python" hatch_build.py "$folder" --sanitize
# Python and its packages do not free everything at exit; only accesses are of interest.
LD_PRELOAD="${runtimes[0]} ${runtimes[1]}" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
    STEREOGAUGE_NATIVE_LIBRARY="$PWD/$folder/libstereogauge.so" "$python" -m pytest -q -p no:cacheprovider -n 0 "$@"
