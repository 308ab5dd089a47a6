#!/usr/bin/env bash
# Evaluate every result below STEREOGAUGE_DATA, and three matchers, into one store: what `make serve` shows beside the demo.
set -euo pipefail
bin=$1
store=$2
data=${STEREOGAUGE_DATA:-}
if [ -z "$data" ] || [ ! -d "$data" ]; then
    echo "STEREOGAUGE_DATA names no folder of real data: the site shows the demonstration alone" >&2
    exit 0
fi
manifests=$(dirname "$0")/../docs/manifests
geometry=bad@1,bad@2,bad@4,rms,sze,d-fat,d-thin,d-fuz-rel,p-bump,p-bump-rel,p-bump-clip@1,p-off,p-mis,f-missing,f-por,f-frag,f-fat,seconds
matchers=(--matcher "census SGM=sgm" --matcher "OpenCV SGBM=opencv-sgbm" --matcher "OpenCV BM=opencv-bm")
evaluate() { "$bin/stereogauge" evaluate "$@" --store "$store"; }

evaluate "middlebury-v2:$data/middlebury-v2" "$data/middlebury-v2/results" --protocol cabezas \
    --manifest "$manifests/middlebury-v2.toml" --regions all,nonocc,disc,boundary,interior,occluded "${matchers[@]}"
evaluate "middlebury-v3:$data/middlebury-2014" "$data/middlebury-2014/results" --protocol middlebury-v3 \
    --manifest "$manifests/middlebury-v3.toml" --metrics "$geometry" --regions nonocc,all "${matchers[@]}"
evaluate "kitti-2012:$data/kitti2012" "$data/kitti2012/results" --protocol kitti-2012 \
    --manifest "$manifests/kitti-2012.toml"
evaluate "kitti-2015:$data/kitti2015" "$data/kitti2015/results" --protocol kitti-2015 \
    --manifest "$manifests/kitti-2015.toml"
