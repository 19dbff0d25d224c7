#include "runtime/executor_cuda/check_cuda_options.hpp"

#include <fmt/format.h>

#include <string>

#include "kernels/cuda/attention/paged_attention.hpp"
#include "kernels/cuda/elementwise/residual_norm.hpp"
#include "kernels/cuda/elementwise/rotate_and_store.hpp"
#include "kernels/cuda/sampling/sampling.hpp"

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

tl::unexpected<error> no_kernel(const std::string& what) {
  return fail(error_code::unsupported, what + ": say --device=cpu, which serves this model", "device");
}

// Shapes that the CPU serves.
result<void> check_model(const model_config& config) {
  if (!kernels::cuda::can_attend(config.head_dim))
    return no_kernel(
        fmt::format("the model's heads have {} elements, and a CUDA device takes multiples of 16 "
                    "up to 256",
                    config.head_dim));
  if (config.rope_dim % kernels::cuda::rope_dim_unit != 0)
    return no_kernel(
        fmt::format("the model rotates {} elements of a head, and a CUDA device rotates a "
                    "multiple of {}",
                    config.rope_dim, kernels::cuda::rope_dim_unit));
  if (config.hidden_size > kernels::cuda::max_norm_width)
    return no_kernel(fmt::format("the model's hidden size is {}, and on a CUDA device {} at most",
                                 config.hidden_size, kernels::cuda::max_norm_width));
  if (config.vocab_size > kernels::cuda::max_sampling_vocab)
    return no_kernel(fmt::format("the model has {} tokens, and a CUDA device draws among {} at most",
                                 config.vocab_size, kernels::cuda::max_sampling_vocab));
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
  if (auto checked = check_model(config); !checked) return checked;
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
    return fail(
        error_code::unsupported,
        fmt::format("no kernel for heads of {} in blocks of {} tokens: a CUDA device takes blocks of 8, "
                    "16, 32 or 64, and heads of 16 to 256 elements, a multiple of 16",
                    config.head_dim, options.limits.block_size),
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

result<void> check_heads(std::int32_t head_dim, const cuda_device& device) {
  const auto bytes = static_cast<std::size_t>(kernels::cuda::chunk_shared_bytes(head_dim));
  if (bytes <= device.shared_per_block) return {};
  return no_kernel(
      fmt::format("the model's heads of {} elements take {} bytes of shared memory, and {} has {} "
                  "for a block",
                  head_dim, bytes, describe(device), device.shared_per_block));
}

}  // namespace troupe
