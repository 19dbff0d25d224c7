#!/usr/bin/env bash
# Decode and prefill rates beside llama.cpp's on the same file and machine, run alternately; medians and their ratio as
# a Markdown table.
#
#   tests/bench/compare_llama.sh LLAMA_BIN_DIR [TROUPE]
#
# LLAMA_BIN_DIR holds llama-batched-bench. TROUPE is the binary, build/troupe if not given. From the environment:
# MODEL, BATCHES ("1 8 32"), RUNS (5), THREADS (all cores), INPUT (128), OUTPUT (64), and PREFIX, a command put before
# both sides alike, such as "taskset -c 0,1" or "chrt -f 1" on a machine that others use.
set -euo pipefail

if [[ $# -lt 1 || $# -gt 2 ]]; then
  sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
  exit 64
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
llama=$1/llama-batched-bench
troupe=${2:-$root/build/troupe}
model=${MODEL:-$root/models/SmolLM2-135M-Instruct.Q4_1.gguf}
batches=${BATCHES:-1 8 32}
runs=${RUNS:-5}
threads=${THREADS:-$(nproc)}
input=${INPUT:-128}
output=${OUTPUT:-64}
read -r -a prefix <<<"${PREFIX:-}"
for needed in "$llama" "$troupe" "$model"; do
  [[ -e $needed ]] || { echo "missing: $needed" >&2; exit 66; }
done

# "prefill decode", tokens a second.
run_troupe() {
  "${prefix[@]}" "$troupe" bench offline --model "$model" --batch "$1" --input-len "$input" --output-len "$output" \
    --threads "$threads" --json 2>/dev/null |
    sed -n 's/.*"prefill_tokens_per_s": *\([0-9.e+]*\).*"decode_tokens_per_s": *\([0-9.e+]*\).*/\1 \2/p'
}
run_llama() {
  "${prefix[@]}" "$llama" -m "$model" -t "$threads" -c $(($1 * (input + output))) -b 2048 -ub 512 -npp "$input" \
    -ntg "$output" -npl "$1" 2>/dev/null | awk -F'|' '$2 + 0 > 0 {print $7 + 0, $9 + 0}'
}
median() { sort -g | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "cpu: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $threads threads; $runs runs each, alternating;" \
  "$input tokens in, $output out"
echo
echo "| sequences | llama.cpp decode | troupe decode | ratio | llama.cpp prefill | troupe prefill | ratio |"
echo "|---|---|---|---|---|---|---|"
for batch in $batches; do
  : >"$work/troupe" && : >"$work/llama"
  for ((run = 0; run < runs; ++run)); do
    run_troupe "$batch" >>"$work/troupe"
    run_llama "$batch" >>"$work/llama"
  done
  for side in troupe llama; do
    [[ $(wc -l <"$work/$side") -eq $runs ]] || { echo "$side failed at batch $batch" >&2; exit 1; }
    for column in 1 2; do cut -d' ' -f$column "$work/$side" | median >"$work/$side.$column"; done
  done
  paste "$work/llama.2" "$work/troupe.2" "$work/llama.1" "$work/troupe.1" |
    awk -v b="$batch" '{printf "| %d | %.1f | %.1f | %.2f | %.0f | %.0f | %.2f |\n", b, $1, $2, $2 / $1, $3, $4, $4 / $3}'
done
