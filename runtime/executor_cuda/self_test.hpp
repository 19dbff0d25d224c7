// Whether a device computes what the CPU does, and how fast: for a machine with a device that nobody has
// tried yet.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/executor_cuda/cuda_executor.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

struct self_test_options {
  cuda_executor_options device;  // graph_rows are the batch sizes that are timed
  std::int32_t prompt = 256;     // tokens of the prompts that are compared and timed
  std::int32_t context = 1024;   // of the decodes that are timed
  std::int32_t rounds = 20;      // of each timing; the median counts
  std::size_t copied_bytes = std::size_t{256}
                             << 20U;  // to measure the device's bandwidth: more than L2 holds
  std::function<double()> now;        // microseconds
};

// Medians in microseconds, from the host's call to the host's having the tokens.
struct decode_timing {
  std::int32_t sequences = 0;
  double as_graph = 0;
  double eagerly = 0;
  double bandwidth_share = 0;  // of the graph: bytes of weights over its time, as a share of copy_bandwidth
};

struct self_test_report {
  std::string device;
  std::string products;        // gemm::name()
  std::int32_t compared = 0;   // log-probabilities of tokens of random prompts
  double mean_difference = 0;  // between the device's and the CPU's
  double largest_difference = 0;
  std::int32_t greedy_compared = 0;  // tokens of which the CPU is sure: a margin of 0.5
  std::int32_t greedy_different = 0;
  bool graphs_agree = false;  // the same greedy tokens as graphs and eagerly
  double copy_bandwidth = 0;  // bytes a second that a copy on the device reads and writes
  std::size_t weight_bytes = 0;
  double prompt_time = 0;  // microseconds of self_test_options::prompt tokens
  std::vector<decode_timing> decodes;

  // bf16 beside float32: what rounding explains. A wrong kernel is far beyond it.
  bool passed() const {
    return graphs_agree && greedy_different == 0 && greedy_compared > 0 && mean_difference < 0.1;
  }
};

// Loads the model on the CPU and on the device, there twice: with graphs and without. Errors: those of both
// executors' starts. Throws what executors throw.
result<self_test_report> run_self_test(const model_ptr& model, const self_test_options& options);

}  // namespace troupe
