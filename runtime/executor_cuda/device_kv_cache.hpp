// The paged KV memory on the device, of all layers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/cuda/paged_kv.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/device_memory.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

// --kv-cache-dtype on a device: auto and bf16 are bf16; fp8 is e4m3, int8 has a scale a token and head.
// Errors: invalid_argument, naming the option.
result<kernels::cuda::kv_element> find_kv_element(const std::string& name);

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

}  // namespace troupe
