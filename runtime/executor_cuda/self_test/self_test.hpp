// Whether a device computes what the CPU does, and how fast: for a machine with a device that nobody has
// tried yet.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/executor_cuda/cuda_executor.hpp"
#include "runtime/executor_cuda/kernel_checks/kernel_checks.hpp"
#include "runtime/executor_cuda/kernel_checks/kernel_timings.hpp"
#include "runtime/executor_cuda/self_test/step_timings.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

struct self_test_options {
  // graph_rows are the batch sizes that are timed; with weights as in the file products with codes are too.
  cuda_executor_options device;
  checks::kernel_check_options checks;
  checks::timing_options timings;  // its matrices are the model's
  std::int32_t prompt = 256;       // tokens of the prompts that are compared and timed
  std::int32_t context = 1024;     // of each sequence of the decodes that are timed
  std::int32_t rounds = 20;        // of each timing of a step; the median counts
  std::function<double()> now;     // microseconds
  // A line for each part that is done: of a large model a test takes minutes.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct decode_timing {
  std::int32_t sequences = 0;
  std::int32_t context = 0;  // of each
  std::size_t kv_bytes = 0;  // of all contexts
  step_time as_graph = {};
  step_time eagerly = {};
  step_time batch_invariant = {};  // as a graph too
  double bandwidth_share = 0;  // of the whole step as a graph: weights and contexts read once, as a share of
                               // what a copy on the device moves
};

struct self_test_report {
  std::string device;
  std::string products;                       // gemm::name()
  std::vector<checks::kernel_check> kernels;  // each beside a plain loop
  checks::timing_report times;                // of kernels
  std::int32_t compared = 0;                  // log-probabilities of tokens of random prompts
  double mean_difference = 0;                 // between the device's and the CPU's
  double tolerance = 1;  // how much further apart than bf16 the form of the weights lets them be
  double largest_difference = 0;
  // Best tokens, after each of the prompt's and of some decodes, of which the CPU is sure: a margin of 0.5,
  // times the tolerance.
  std::int32_t greedy_compared = 0;
  std::int32_t greedy_different = 0;
  // Nothing where it was not tried, of which `errors` says why.
  std::optional<bool> graphs_agree;  // of what eager steps are sure
  std::optional<bool> keeps_bits;    // with batch_invariant: keeps_bits_in_company()
  std::size_t weight_bytes = 0;      // that a decode reads
  // Microseconds of self_test_options::prompt tokens.
  double prompt_time = 0;
  double batch_invariant_prompt_time = 0;
  std::vector<decode_timing> decodes;
  // What could not be done, and why: a line each. A device that was lost is the last.
  std::vector<std::string> errors;

  bool kernels_passed() const {
    return !kernels.empty() &&
           std::all_of(kernels.begin(), kernels.end(), [](const auto& each) { return each.passed; });
  }
  // What differs by more than rounding explains, bf16 here and the CPU's int8 products there (on the default
  // model log-probabilities are 0.12 apart; with a wrong kernel far more), and the errors: a sentence each.
  std::vector<std::string> failures() const;
  bool passed() const { return failures().empty(); }
};

// Loads the model on the CPU and on the device, there three times: without graphs, with them, and with
// products that keep a row's bits whatever is beside it. What cannot be done is in the report, and the rest
// is tried; after a device that is lost nothing is. Errors, before anything runs: invalid_argument (a prompt
// beyond the model's context), those of open_cuda_device() and of open_gemm.
result<self_test_report> run_self_test(const model_ptr& model, const self_test_options& options);

}  // namespace troupe
