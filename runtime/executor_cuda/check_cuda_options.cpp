#include "runtime/executor_cuda/check_cuda_options.hpp"

#include <fmt/format.h>

#include "kernels/cuda/paged_attention.hpp"

namespace troupe {
namespace {

using kernels::cuda::element_type;

result<void> check_limits(const executor_limits& limits, double memory_utilization) {
  if (limits.max_rows < 1 || limits.max_rows > most_rows_of_a_step)
    return fail(error_code::invalid_argument, "max_num_batched_tokens must be 1 to 1048576",
                "max_num_batched_tokens");
  if (limits.max_sequences < 1 || limits.max_sequences > most_rows_of_a_step)
    return fail(error_code::invalid_argument, "max_num_seqs must be 1 to 1048576", "max_num_seqs");
  if (!(memory_utilization >= 0 && memory_utilization <= 1))
    return fail(error_code::invalid_argument, "gpu_memory_utilization must be 0 to 1",
                "gpu_memory_utilization");
  return {};
}

}  // namespace

result<element_type> find_element_type(const std::string& dtype) {
  if (dtype == "auto" || dtype == "bfloat16") return element_type::bf16;
  if (dtype == "half" || dtype == "float16") return element_type::f16;
  return fail(error_code::unsupported,
              fmt::format("dtype is {}, but a CUDA device computes in 16 bits: dtype must be auto, bfloat16, "
                          "float16 or half",
                          dtype),
              "dtype");
}

result<void> check_cuda_options(const model_config& config, const cuda_executor_options& options,
                                element_type type, kernels::cuda::kv_element element) {
  if (auto checked = check_limits(options.limits, options.memory_utilization); !checked) return checked;
  if (type != element_type::bf16 && options.weights != weight_form::plain)
    return fail(
        error_code::unsupported,
        fmt::format("gpu_weights is {}, which goes with bfloat16 alone: dtype must be auto or bfloat16",
                    options.weights == weight_form::fp8 ? "fp8" : "file"),
        "gpu_weights");
  const auto own =
      type == element_type::f16 ? kernels::cuda::kv_element::fp16 : kernels::cuda::kv_element::bf16;
  if (element != own && kernels::cuda::kv_element_bytes(element) != 1)
    return fail(error_code::unsupported,
                fmt::format("kv_cache_dtype {} does not go with dtype {}: what has 16 bits is of one type",
                            options.kv_cache_dtype, options.dtype),
                "kv_cache_dtype");
  kernels::cuda::paged_kv kv;
  kv.element = element;
  kv.block_size = options.limits.block_size;
  kv.head_dim = config.head_dim;
  if (!kernels::cuda::can_attend(kv, type))
    return fail(error_code::unsupported,
                fmt::format("no kernel for heads of {} in blocks of {} tokens", config.head_dim,
                            options.limits.block_size),
                "block_size");
  return {};
}

result<void> check_weights(weight_form weights, const cuda_device& device) {
  if (weights != weight_form::fp8 || has_fp8_products(device)) return {};
  return fail(
      error_code::unsupported,
      fmt::format("gpu_weights is fp8, but {} has no products of 8-bit floats: compute capability 8.9 "
                  "is needed",
                  describe(device)),
      "gpu_weights");
}

}  // namespace troupe
