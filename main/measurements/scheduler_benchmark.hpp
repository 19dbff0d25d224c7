// What a step costs beside the model: plan, reserve and commit over an executor that takes no time.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/result.hpp"

namespace troupe::cli {

struct scheduler_benchmark_options {
  std::int32_t running = 256;  // sequences side by side
  std::int32_t steps = 4000;   // that are measured
  bool actors = false;         // every actor in the loop; else the engine's own parts
  bool async_scheduling = true;
};

// Microseconds of each measured step. Prompts of 128 to 383 tokens, answers staggered up to 512, another
// request for each that ends; prefix caching on, blocks are hashed between what is measured. With actors it
// is the time from one step's start on the runner to the next's. Errors: those of company::start.
result<std::vector<double>> run_scheduler_benchmark(const scheduler_benchmark_options& options);

}  // namespace troupe::cli
