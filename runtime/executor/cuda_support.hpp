// What a program that was built with CUDA knows of its devices, handed in: this layer does not know CUDA.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/weight_form.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

// A CUDA device in place of the CPU.
struct cuda_choice {
  std::int32_t device_id = 0;
  double memory_utilization =
      0.9;             // of the device's whole memory; 0: limits.kv_cache_bytes are the KV cache's
  bool graphs = true;  // whether decode steps are captured as graphs
  weight_form weights = weight_form::plain;
  bool batch_invariant = false;  // whether a row's bits may not depend on the rows of its step
  std::vector<std::int32_t> graph_rows =
      {};  // their numbers of rows; load_engine() takes those of the buckets
};

struct cuda_support {
  // Device `id` in a line for people, without taking any of its memory. Errors: unavailable, unsupported.
  std::function<result<std::string>(std::int32_t id)> find;
  // An executor on it, its start still to come; of the options limits, dtypes and end_tokens count. Errors:
  // those of load_cuda_executor().
  std::function<result<std::unique_ptr<executor>>(const model_ptr& model, const cpu_executor_options& options,
                                                  const cuda_choice& choice)>
      open;
};

// Where there is none of it.
inline error built_without_cuda() {
  return {error_code::unsupported,
          "this program was built without CUDA (docs/gpu.md says what a build with it needs)", "device"};
}

}  // namespace troupe
