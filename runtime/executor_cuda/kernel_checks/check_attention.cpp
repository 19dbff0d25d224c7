#include <cstddef>
#include <string>

#include "kernels/cuda/attention/paged_attention.hpp"
#include "runtime/executor_cuda/kernel_checks/attention_step.hpp"
#include "runtime/executor_cuda/kernel_checks/device_data.hpp"
#include "runtime/executor_cuda/kernel_checks/kernel_checks.hpp"
#include "runtime/executor_cuda/kernel_checks/rotation_step.hpp"

namespace troupe::checks {
namespace {

using kernels::cuda::chunk_shared_bytes;
using kernels::cuda::element_type;
using kernels::cuda::kv_element;
using kernels::cuda::rope_pairs;

struct stored_as {
  element_type type;
  kv_element stored;
  const char* name;
};
constexpr stored_as storages[] = {{element_type::bf16, kv_element::bf16, "bf16"},
                                  {element_type::bf16, kv_element::fp8, "bf16 and fp8 KV"},
                                  {element_type::bf16, kv_element::int8, "bf16 and int8 KV"},
                                  {element_type::f16, kv_element::fp16, "fp16"},
                                  {element_type::f16, kv_element::fp8, "fp16 and fp8 KV"},
                                  {element_type::f16, kv_element::int8, "fp16 and int8 KV"}};

// Half of all models have heads of 64 or 128. None is larger than the device serves (check_heads).
std::int32_t some_head_dim(std::mt19937& random, std::size_t shared_per_block) {
  std::int32_t largest = 256;
  while (static_cast<std::size_t>(chunk_shared_bytes(largest)) > shared_per_block) largest -= 16;
  return pick(random, 0, 1) == 0 ? 64 << pick(random, 0, 1) : 16 * pick(random, 1, largest / 16);
}

attention_step some_step(const stored_as& as, bool chunks, std::int32_t context, std::size_t shared_per_block,
                         std::mt19937& random) {
  const attention_shape shape{.type = as.type,
                              .stored = as.stored,
                              .head_dim = some_head_dim(random, shared_per_block),
                              .kv_heads = pick(random, 1, 3),
                              .group = pick(random, 1, 8),
                              .block_size = 8 << pick(random, 0, 3)};
  std::vector<attention_sequence> sequences;
  for (std::int32_t count = pick(random, 1, 4); count > 0; --count) {
    const std::int32_t rows = chunks ? pick(random, 2, 70) : pick(random, 0, 2) == 0 ? pick(random, 2, 6) : 1;
    sequences.push_back({rows, rows + pick(random, 0, context), static_cast<unsigned>(count)});
  }
  return {shape, sequences, static_cast<unsigned>(random())};
}

rotation_step some_rotation(const stored_as& as, std::size_t shared_per_block, std::mt19937& random) {
  rotation_shape shape;
  shape.heads = pick(random, 1, 8);
  shape.kv_heads = pick(random, 1, 3);
  shape.head_dim = some_head_dim(random, shared_per_block);
  shape.rope_dim = 16 * pick(random, 1, shape.head_dim / 16);
  shape.pairs = pick(random, 0, 1) == 0 ? rope_pairs::halves : rope_pairs::interleaved;
  shape.biased = pick(random, 0, 1) == 0;
  shape.normed = pick(random, 0, 1) == 0;
  shape.kv = as.stored;
  shape.block_size = 8 << pick(random, 0, 3);
  // One row without a place, the others in places of their own.
  std::vector<std::int32_t> slots{-1};
  const std::int32_t first = pick(random, 0, 2);
  for (std::int32_t slot = first; slot < 3 * shape.block_size; slot += 3) slots.push_back(slot);
  return {shape, slots, random};
}

}  // namespace

void check_attention(check_list& list) {
  const std::int32_t context = list.options().context;
  const std::size_t shared = list.options().shared_per_block;
  for (const stored_as& as : storages) {
    list.add(std::string("rotate_and_store, ") + as.name, [&](std::mt19937& random, comparison& compared) {
      rotation_step step = some_rotation(as, shared, random);
      if (as.type == element_type::bf16)
        return step.compare<__nv_bfloat16>(step.run<__nv_bfloat16>(), compared);
      step.compare<__half>(step.run<__half>(), compared);
    });
    list.add(std::string("paged_attention, split, ") + as.name,
             [&](std::mt19937& random, comparison& compared) {
               const attention_step step = some_step(as, false, context, shared, random);
               step.compare(step.run(attention_way::split), compared);
             });
    list.add(std::string("paged_attention, chunks, ") + as.name,
             [&](std::mt19937& random, comparison& compared) {
               const attention_step step = some_step(as, true, context / 4, shared, random);
               step.compare(step.run(attention_way::chunks), compared);
             });
    list.add(std::string("paged_attention, split as chunks, ") + as.name,
             [&](std::mt19937& random, comparison& compared) {
               const attention_step step = some_step(as, false, context, shared, random);
               const std::vector<float> split = step.run(attention_way::split);
               const std::vector<float> chunks = step.run(attention_way::chunks);
               for (std::size_t i = 0; i < split.size(); ++i) compared.add(split[i], chunks[i], 0);
             });
  }
}

}  // namespace troupe::checks
