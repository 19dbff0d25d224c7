// The model on a CUDA device: weights in 16 bits, in fp8 or as the file has quantised them, 16-bit
// activations, an fp32 residual stream, paged KV, sampling on the device, decode steps as graphs.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/model/device_weights.hpp"
#include "runtime/executor_cuda/products/few_row_products.hpp"
#include "runtime/executor_cuda/products/gemm.hpp"
#include "runtime/executor_cuda/step/decode_graphs.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

struct cuda_executor_options {
  executor_limits limits;  // kv_cache_bytes is not looked at where memory_utilization is above 0
  // The share of the device's whole memory that this program may use: what weights and steps leave of it is
  // the KV cache's. 0: limits.kv_cache_bytes.
  double memory_utilization = 0.9;
  std::int32_t device_id = 0;
  std::string dtype = "auto";  // auto | bfloat16 | float16 | half; auto is bfloat16
  weight_form weights = weight_form::plain;
  std::string kv_cache_dtype = "auto";  // auto | bf16 | f16 | fp8 | int8; auto is the activations' type
  std::vector<token_id> end_tokens;     // masked while a sequence is below its min_tokens
  // The numbers of rows that decode steps have graphs for; none: all run eagerly.
  std::vector<std::int32_t> graph_rows = {1, 2, 4, 8, 16, 32};
  // Whether a row's bits may not depend on the rows of its step; else only what the products sum does.
  bool batch_invariant = false;
  // Where that is not asked for: whether few rows may be multiplied by an own kernel.
  few_row_products few_rows = few_row_products::never;
  // Products on the device that is open: cuBLASLt (cublaslt_gemm.hpp), but in tests.
  gemm_opener open_gemm;
  // Hears of each step, in microseconds of the device's clock: from its first work to its last, and how long
  // the device had had nothing to do before it. Steps are not timed where nobody hears.
  std::function<void(double busy, double idle)> step_timed;
  // Hears, in a line for people, what is less than was asked for.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

// Copies the weights to the device and takes the memory of a step within the limits. What executor.hpp calls
// the start is still to come: until then there is no KV cache. Errors: those of open_cuda_device(),
// check_cuda_options.hpp, find_kv_element() and open_gemm; resource_exhausted.
result<std::unique_ptr<executor>> load_cuda_executor(const model_ptr& model,
                                                     const cuda_executor_options& options);

}  // namespace troupe
