#include "runtime/executor_cuda/device_kv_cache.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

using kernels::cuda::kv_element;
using kernels::cuda::paged_kv;

paged_kv describe(const model_config& config, kv_element element, std::int32_t block_size,
                  std::int32_t num_blocks) {
  paged_kv kv;
  kv.element = element;
  kv.num_layers = config.num_layers;
  kv.num_blocks = num_blocks;
  kv.num_kv_heads = config.num_kv_heads;
  kv.block_size = block_size;
  kv.head_dim = config.head_dim;
  return kv;
}

const char* name_of(kv_element element) {
  switch (element) {
    case kv_element::bf16:
      return "bf16";
    case kv_element::fp16:
      return "f16";
    case kv_element::fp8:
      return "fp8";
    case kv_element::int8:
      return "int8";
  }
  return "";
}

}  // namespace

result<kv_element> find_kv_element(const std::string& name) {
  if (name == "auto" || name == "bf16") return kv_element::bf16;
  if (name == "fp8") return kv_element::fp8;
  if (name == "int8") return kv_element::int8;
  return fail(error_code::invalid_argument,
              fmt::format("kv_cache_dtype must be auto, bf16, fp8 or int8 on a CUDA device, got '{}'", name),
              "kv_cache_dtype");
}

std::size_t device_kv_cache::bytes_per_block(const model_config& config, kv_element element,
                                             std::int32_t block_size) {
  const paged_kv one = describe(config, element, block_size, 1);
  return one.data_bytes() + one.scale_bytes();
}

device_kv_cache::device_kv_cache(const model_config& config, kv_element element, std::int32_t block_size,
                                 std::int32_t num_blocks)
    : kv_(describe(config, element, block_size, num_blocks + 1)),
      data_(kv_.data_bytes()),
      scales_(kv_.scale_bytes()) {
  kv_.data = data_.data();
  kv_.scales = reinterpret_cast<float*>(scales_.data());
  layout_.block_size = block_size;
  layout_.num_blocks = num_blocks;
  layout_.bytes_per_block = bytes_per_block(config, element, block_size);
  layout_.dtype = name_of(element);
}

}  // namespace troupe
