// Prefill and decode rates of the engine alone: no actors, no sockets, no text.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe::cli {

struct benchmark_options {
  std::int32_t batch = 1;         // sequences side by side
  std::int32_t input_len = 128;   // prompt tokens of each
  std::int32_t output_len = 128;  // tokens generated for each
  std::int32_t max_num_batched_tokens = 512;
  std::int32_t block_size = 16;
  std::int32_t threads = 0;
  std::string kernel_path = "auto";
  std::string dtype = "auto";
  std::string kv_cache_dtype = "auto";
  std::filesystem::path tuning_file;  // or the folder that has one for each machine and model; empty: untuned
  std::filesystem::path tuning_folder;
  std::uint64_t seed = 0;
};

struct benchmark_report {
  double load_seconds = 0;     // repacking the weights
  double prefill_seconds = 0;  // of batch * input_len tokens
  double decode_seconds = 0;   // of output_len - 1 steps
  std::int64_t prefill_tokens = 0;
  std::int64_t decode_tokens = 0;
  double step_ms_p50 = 0;  // of the decode steps
  double step_ms_p99 = 0;
  std::string kernel_path;
  std::string kv_cache_dtype;
  bool tuned = false;  // by a file of an earlier start of the service

  double prefill_rate() const {
    return prefill_seconds > 0 ? static_cast<double>(prefill_tokens) / prefill_seconds : 0;
  }
  double decode_rate() const {
    return decode_seconds > 0 ? static_cast<double>(decode_tokens) / decode_seconds : 0;
  }
};

// What is going on and how much of it is done.
using benchmark_progress =
    std::function<void(const std::string& phase, std::int64_t done, std::int64_t total)>;

// Distinct random prompts, greedy, end-of-text ignored. Prefill and decode are measured apart: first `batch`
// prompts that end with their first token; then `batch` others, timed over the output_len - 1 steps that come
// after each of them has its first token. A short run of both kinds goes before. Errors: invalid_argument
// where the sequences exceed the model's context; those of make_cpu_executor.
result<benchmark_report> run_offline_benchmark(const model_ptr& model, const benchmark_options& options,
                                               const benchmark_progress& progress);

// The p-quantile (0..1) of `values` by the nearest rank; 0 where there are none.
double quantile(std::vector<double> values, double p);

}  // namespace troupe::cli
