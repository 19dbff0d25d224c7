// Warm-up: scratch steps in every bucket, then the sampler's settings, so that the first requests find code
// compiled or tuned and memory touched. Nothing of it can change a token: scratch steps read and write the
// executor's scratch block alone (scratch_block), which no sequence is ever given.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/bucketing/make_buckets.hpp"
#include "runtime/executor/device_batch.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/timed_step.hpp"

namespace troupe {

enum class warm_up_phase { prompt, decode, unified, tuning, verification, sampler };

// One scratch step, one batch size of the sampler, the choice of a plan for steps of some number of rows, or
// the time that a step takes whose rows are all sampled, as those that verify drafts are.
struct warm_up_item {
  warm_up_phase phase = warm_up_phase::prompt;
  bucket shape = {};               // prompt, decode; tuning, verification: the step that is timed
  unified_bucket unified = {};     // unified
  std::int32_t context = 0;        // verification: tokens before the rows
  bool is_random = false;          // verification: how the rows are sampled
  std::int32_t sampler_batch = 0;  // sampler: requests ...
  std::int32_t sampler_rows = 0;   // ... and samples at most
  std::int32_t number = 1;         // of its phase, from 1 ...
  std::int32_t count = 1;          // ... to this
  // Whether lazy warm-up does it before the first request: one prefill, one decode.
  bool is_first = false;
  bool is_for_graph = false;  // decode: its step is there to have a graph of so many rows captured
};

// Of which buckets a step is run: of every one, or of one for each number of rows, since steps of equally
// many rows run the same code.
enum class warm_up_extent { every_bucket, every_row_count };

// What is measured on the way.
struct warm_up_measurements {
  bool tune = false;                  // plans, for every number of rows that the buckets have, but for ...
  std::set<std::int32_t> tuned = {};  // ... those whose plans are known
  // What drafts cost: steps of 1, 2, 4, ... rows, up to most_verified_rows; then what a long context and
  // sampling at random take more.
  bool verification = false;
};
inline constexpr std::int32_t most_verified_rows = 128;

// What an item of the phase verification times.
timed_step timed_step_of(const warm_up_item& item);

// Phase by phase: prompts, decodes (or unified), what is measured, sampler. Buckets come the largest first,
// what is tuned or timed for drafts the smallest; the sampler's batch sizes are 0, 1 and those of the decode
// (or non-causal unified) buckets, ascending. Without buckets one prefill of max_rows and one decode of
// max_sequences. Each of `graphs` (graph_sizes()) has a decode of its own, before those of the buckets.
std::vector<warm_up_item> warm_up_items(const bucket_plan& plan, const executor_limits& limits,
                                        std::int32_t block_size, warm_up_extent extent,
                                        warm_up_measurements measured = {},
                                        std::span<const std::int32_t> graphs = {});

// "[Warmup][Prompt][1/36] batch:1 query:1024 blocks:0 free_mem:11.16 GiB",
// "[Warmup][Unified CFG][2/375] query_len:2048 shared_blocks:256 unique_blocks:2890 (causal) free_mem:...".
std::string describe(const warm_up_item& item, std::uint64_t free_bytes);
// The item alone, for a progress bar: "Decode batch:4 query:1 blocks:128".
std::string describe(const warm_up_item& item);

// What the runner is sent: the item and, but for the sampler, its step.
struct warm_up_task {
  warm_up_item item;
  device_batch batch;
};
using warm_up_task_ptr = std::shared_ptr<const warm_up_task>;

// Throws what the executor throws.
void run_warm_up(executor& device, const warm_up_task& task);

}  // namespace troupe
