#!/usr/bin/env bash
# Run the tests of the native kernels with a library that checks every access and every undefined operation.
# Arguments: the Python to use, then the sources whose tests run on the best level of this processor (default: all of
# them, on every level that it has).
set -euo pipefail
python=$1
shift
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
levels=$("$python" -c 'from stereogauge.kernels.library import available_levels; print(*available_levels())')
tests=(tests/kernels)
part=(--levels $levels)
if [ $# -gt 0 ]; then
    tests=("${@/#/tests/kernels/test_}")
    tests=("${tests[@]/%/.py}")
    part=(--levels "${levels##* }" --sources "$@")
fi
"$python" hatch_build.py "$folder" --sanitize "${part[@]}"
# Python and its packages do not free everything at exit; only accesses are of interest.
LD_PRELOAD="${runtimes[0]} ${runtimes[1]}" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
    STEREOGAUGE_NATIVE_LIBRARY="$PWD/$folder/libstereogauge.so" "$python" -m pytest -q -p no:cacheprovider -n 0 "${tests[@]}"
