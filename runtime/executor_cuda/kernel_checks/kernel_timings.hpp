// How long kernels take on the device that is open, beside what it can do.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/executor_cuda/products/gemm.hpp"
#include "runtime/result.hpp"

namespace troupe::checks {

// Sizes of what is timed: large enough that the caches of a device hold little of it. Tests take less.
struct timing_options {
  std::int32_t rounds = 9;     // of each; the median counts
  std::int32_t launches = 10;  // of a round, as one graph: what it costs to launch one does not count
  std::int32_t rows = 8192;    // of hidden states
  std::int32_t width = 4096;
  std::int32_t intermediate = 14'336;
  struct attention_heads {
    std::int32_t queries = 32;
    std::int32_t kv = 8;
    std::int32_t dim = 128;
  };
  attention_heads heads = {};
  std::int32_t batch = 32;  // decodes that attend
  std::int32_t context = 4096;
  std::int32_t chunk = 2048;  // rows of a prompt that attend
  std::int32_t sampled_rows = 64;
  // Decodes of the model: its heads, its sequences' context, of which none are timed where it is 0.
  attention_heads model_heads = {};
  std::int32_t model_context = 0;
  std::vector<std::int32_t> model_batches = {1, 8, 64};
  std::vector<std::int32_t> vocabularies = {49'152, 151'936};
  std::int32_t product = 8192;         // edge of the product that shows what the device can compute
  std::int32_t multiprocessors = 132;  // of the device
  std::size_t copied_bytes = std::size_t{512} << 20U;
  std::size_t cold_bytes = std::size_t{256} << 20U;  // more than any L2 cache: weights take turns through it
  // The products of a model: outputs x inputs, by `product_rows` rows each.
  struct matrix {
    std::string name;
    std::int32_t outputs = 0;
    std::int32_t inputs = 0;
    gemm_output kind = gemm_output::rounded;
  };
  std::vector<matrix> matrices = {};
  // Those of them that are quantised or fp8 on the device, where their codes lie.
  struct quantized_matrix {
    std::string name;
    device_matrix weight;
    gemm_output kind = gemm_output::rounded;
  };
  std::vector<quantized_matrix> quantized_matrices = {};
  std::vector<std::int32_t> product_rows = {1, 8, 64, 512};  // rising
  // As cuda_executor_options has it; the second measures all that the library has, for comparison.
  gemm_opener open_gemm = {};
  gemm_opener open_thorough_gemm = {};
  std::function<void(const std::string&)> progress = [](const std::string&) {};  // a line for each timing
};

struct kernel_timing {
  std::string name;
  std::string shape;
  double microseconds = 0;      // of one launch; the median
  double bytes = 0;             // that it must move at least
  double operations = 0;        // multiplications and additions of its products; 0: none to speak of
  double bandwidth_share = 0;   // of what a copy on the device moves
  double arithmetic_share = 0;  // of what a large product computes
  // Products; else 0.
  double best_microseconds = 0;       // of the fastest way that was found
  double invariant_microseconds = 0;  // of that which keeps a row's bits
};

struct device_limits {
  double copy_bandwidth = 0;  // bytes a second that a copy on the device reads and writes
  double arithmetic = 0;      // bf16 operations a second of a large product
};

struct timing_report {
  device_limits limits;
  std::vector<kernel_timing> timings;
  std::vector<std::string> failures;  // what could not be timed, and why: a sentence each
};

// Adds each timing to `report` as it ends. What cannot be timed is one of its failures and keeps nothing else
// from being timed. Throws device_lost.
void time_kernels(const timing_options& options, timing_report& report);

// Bytes a second that a copy of so many bytes on the device reads and writes: the library's or a kernel's,
// whichever is faster.
double measure_copies(std::size_t bytes);

}  // namespace troupe::checks
