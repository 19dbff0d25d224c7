// The paged KV memory on the device, of all layers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "kernels/cuda/element_type.hpp"
#include "kernels/cuda/paged_kv.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

// --kv-cache-dtype on a device: auto is the type of the activations; fp8 is e4m3, int8 has a scale a token
// and head. Errors: invalid_argument, naming the option.
result<kernels::cuda::kv_element> find_kv_element(const std::string& name, kernels::cuda::element_type type);

class device_kv_cache {
 public:
  device_kv_cache() = default;
  // `num_blocks` blocks and the scratch block behind them. Throws out_of_device_memory and what check_cuda()
  // throws besides.
  device_kv_cache(const model_config& config, kernels::cuda::kv_element element, std::int32_t block_size,
                  std::int32_t num_blocks);

  const kv_layout& layout() const { return layout_; }
  const kernels::cuda::paged_kv& memory() const { return kv_; }

  // Of one block: keys, values and scales of all layers.
  static std::size_t bytes_per_block(const model_config& config, kernels::cuda::kv_element element,
                                     std::int32_t block_size);

 private:
  kernels::cuda::paged_kv kv_;
  kv_layout layout_;
  device_memory data_;
  device_memory scales_;
};

struct kv_cache_wish {
  kernels::cuda::kv_element element = kernels::cuda::kv_element::bf16;
  std::int32_t block_size = 16;
  // As cuda_executor_options has them.
  double memory_utilization = 0;
  std::size_t bytes = 0;
  kv_cache_claim claim = {};
};

// As many blocks as the wish and the free memory of the device that is current allow; fewer, and a warning,
// where the device has no room for these. Errors: resource_exhausted, naming the option to change.
result<device_kv_cache> take_device_kv_cache(const model_config& config, const kv_cache_wish& wish,
                                             const std::function<void(const std::string&)>& warn);

}  // namespace troupe
