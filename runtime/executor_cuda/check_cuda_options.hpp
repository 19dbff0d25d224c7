// Whether a model can run on a CUDA device as is asked for.
#pragma once
#include "kernels/cuda/element_type.hpp"
#include "kernels/cuda/paged_kv.hpp"
#include "runtime/executor_cuda/cuda_executor.hpp"
#include "runtime/executor_cuda/device/cuda_device.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

inline constexpr std::int32_t most_rows_of_a_step = 1 << 20;

// --dtype: auto and bfloat16 are bf16; half and float16 are fp16. Errors: unsupported, naming the option.
result<kernels::cuda::element_type> find_element_type(const std::string& dtype);

// Errors: invalid_argument; unsupported (a shape of the model or of blocks that there is no kernel for,
// weights that the type of the activations does not go with), naming the option.
result<void> check_cuda_options(const model_config& config, const cuda_executor_options& options,
                                kernels::cuda::element_type type, kernels::cuda::kv_element element);

// Errors: unsupported, where the device has no products of such weights.
result<void> check_weights(weight_form weights, const cuda_device& device);

// Errors: unsupported, where the device has too little shared memory for such heads.
result<void> check_heads(std::int32_t head_dim, const cuda_device& device);

}  // namespace troupe
