#include "runtime/executor_cuda/model/device_kv_cache.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cuda/attention/paged_attention.hpp"
#include "runtime/executor_cuda/device/cuda_error.hpp"

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

// Blocks besides the scratch block.
result<std::int64_t> affordable_blocks(const model_config& config, const kv_cache_wish& wish) {
  std::int64_t most_blocks =
      kernels::cuda::most_kv_blocks(describe(config, wish.element, wish.block_size, 0)) - 1;
  if (wish.claim.num_blocks > 0) return std::min<std::int64_t>(wish.claim.num_blocks, most_blocks);
  if (wish.claim.most_blocks > 0) most_blocks = std::min<std::int64_t>(most_blocks, wish.claim.most_blocks);
  const auto [free, total] = ask_device_memory();
  const auto mib = [](double bytes) { return static_cast<std::int64_t>(bytes) / (1 << 20); };
  const bool is_share = wish.memory_utilization > 0;
  auto bytes = static_cast<double>(wish.bytes);
  if (is_share) {
    const auto whole = static_cast<double>(total);
    bytes = whole * wish.memory_utilization - (whole - static_cast<double>(free));
  }
  const std::size_t own = device_kv_cache::bytes_per_block(config, wish.element, wish.block_size);
  const auto block = static_cast<double>(own + (is_share ? wish.claim.bytes_beside : 0));
  const double blocks = bytes / block - 1.0;
  if (blocks >= 1.0) return static_cast<std::int64_t>(std::min(blocks, static_cast<double>(most_blocks)));
  return fail(
      error_code::resource_exhausted,
      fmt::format("the device's memory of {} MiB leaves {} MiB for the KV cache{}: raise "
                  "gpu_memory_utilization, or lower max_num_batched_tokens",
                  total >> 20U, mib(bytes), wish.claim.bytes_beside > 0 ? " and a draft model's" : ""),
      "gpu_memory_utilization");
}

}  // namespace

result<kv_element> find_kv_element(const std::string& name, kernels::cuda::element_type type) {
  if (name == "auto") return type == kernels::cuda::element_type::f16 ? kv_element::fp16 : kv_element::bf16;
  if (name == "bf16") return kv_element::bf16;
  if (name == "f16") return kv_element::fp16;
  if (name == "fp8") return kv_element::fp8;
  if (name == "int8") return kv_element::int8;
  return fail(
      error_code::invalid_argument,
      fmt::format("kv_cache_dtype must be auto, bf16, f16, fp8 or int8 on a CUDA device, got '{}'", name),
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

result<device_kv_cache> take_device_kv_cache(const model_config& config, const kv_cache_wish& wish,
                                             const std::function<void(const std::string&)>& warn) {
  const auto affordable = affordable_blocks(config, wish);
  if (!affordable) return tl::unexpected(affordable.error());
  for (std::int64_t blocks = *affordable; blocks > 0; blocks -= std::max<std::int64_t>(1, blocks / 16)) {
    try {
      device_kv_cache taken(config, wish.element, wish.block_size, static_cast<std::int32_t>(blocks));
      if (blocks < *affordable)
        warn(fmt::format("the device has no room for {} KV blocks: the cache has {}", *affordable, blocks));
      return taken;
    } catch (const out_of_device_memory&) {
      continue;
    }
  }
  return fail(error_code::resource_exhausted, "the device has no room for a single KV block",
              "gpu_memory_utilization");
}

}  // namespace troupe
