// Executors of tiny models that are ready for steps of up to 64 rows and 4 sequences.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/executor_cuda/cuda_executor.hpp"

namespace troupe::test {

// Products by a plain loop, graphs for 1, 2 and 4 rows.
cuda_executor_options small_cuda_options();
// With all that a start asks of it.
std::unique_ptr<executor> start_cuda(const model_ptr& model, const cuda_executor_options& options);
// Runs a decode of each of its graphs' sizes, as the warm-up does.
void capture_graphs(executor& device);
// The same model on the CPU, one thread.
std::unique_ptr<executor> start_cpu(const model_ptr& model);

// Tokens below 250, another text for each length.
std::vector<token_id> prompt_of(std::int32_t length);
// Expects equal greedy tokens of both until the first that `here` is not sure of: its two best are nearer
// than `sure_by` (behind that both go on from different texts). How many were compared, `wanted` at most.
std::size_t compare_greedy(executor& there, executor& here, std::span<const token_id> prompt,
                           std::int32_t wanted, float sure_by);

}  // namespace troupe::test
