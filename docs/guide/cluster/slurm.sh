#!/bin/bash
# A scheduler and the evaluation on the first node, one worker per task on all of them. The job may be killed or run out
# of time; submitted again, it goes on where it was.
#SBATCH --job-name=stereogauge
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=2G
#SBATCH --time=04:00:00
#SBATCH --requeue
set -euo pipefail

dataset=${DATASET:-middlebury-v3:Q:s3://stereo/MiddEval3}
results=${RESULTS:-s3://stereo/results}
store=${STORE:-postgresql+psycopg://stereogauge@database/scores}
port=${PORT:-8786}
head=${SLURMD_NODENAME:-$(hostname)}
export STEREOGAUGE_CACHE=${SLURM_TMPDIR:-/tmp}/stereogauge-$USER

dask scheduler --port "$port" --no-dashboard &
scheduler=$!
srun dask worker "tcp://$head:$port" --nthreads 1 --no-dashboard --death-timeout 120 \
  --local-directory "$STEREOGAUGE_CACHE/dask" &
workers=$!
trap 'kill "$workers" "$scheduler" 2>/dev/null || true' EXIT
for _ in {1..60}; do
  (: < "/dev/tcp/$head/$port") 2>/dev/null && break
  sleep 1
done
stereogauge evaluate "$dataset" "$results" --metrics bad@2,rms --store "$store" --cluster "tcp://$head:$port"
