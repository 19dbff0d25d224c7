#!/usr/bin/env bash
# look.sh PROGRAM: runs a fuzz target over its committed corpus, then looks for TROUPE_FUZZ_SECONDS (10) for an input that
# it does not survive, from a fixed seed. Such an input is kept, and named in the last line.
set -u
program=$1
target=$(basename "$program")
corpus=$(cd "$(dirname "$0")" && pwd)/corpus/$target
kept=$(dirname "$program")/findings
grown=$(mktemp -d) && trap 'rm -rf "$grown"' EXIT
mkdir -p "$kept"

ls "$corpus" > /dev/null || exit 1
options=(-artifact_prefix="$kept/$target-" -timeout=10 -rss_limit_mb=1536 -max_len=4096 -len_control=0)
[ "$target" != gguf_fuzz ] || options+=(-max_len=16384)
"$program" "${options[@]}" -runs=0 "$corpus" \
  || { echo "$target: an input of $corpus is not survived; a copy of it lies in $kept"; exit 1; }
"$program" "${options[@]}" -seed="${TROUPE_FUZZ_SEED:-1}" -max_total_time="${TROUPE_FUZZ_SECONDS:-10}" -print_final_stats=1 \
  "$grown" "$corpus" || { echo "$target: an input that is not survived lies in $kept; add it to $corpus"; exit 1; }
