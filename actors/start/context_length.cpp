#include "actors/start/context_length.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <string>

#include "actors/start/load_draft_model.hpp"
#include "runtime/blocks_for.hpp"

namespace troupe {
namespace {

// "it is 1024 MiB, the default"
std::string describe_kv_cache_memory(const engine_options& options) {
  if (options.memory_utilization > 0)
    return fmt::format("in place of memory_utilization {}", options.memory_utilization);
  return fmt::format("it is {} MiB{}", options.kv_cache_bytes >> 20U,
                     options.has_default_kv_cache() ? ", the default" : "");
}

}  // namespace

result<std::int32_t> context_length(const engine_options& options, std::int32_t trained) {
  const std::int32_t wanted = options.max_model_len;
  if (wanted == 0) return trained;
  if (wanted < 0 || wanted > trained)
    return fail(error_code::invalid_argument,
                fmt::format("max_model_len is {}, but the model holds {} tokens", wanted, trained),
                "max_model_len");
  if (wanted == 1)
    return fail(error_code::invalid_argument,
                "max_model_len is 1: a token of the prompt and one of the answer take 2", "max_model_len");
  return wanted;
}

result<std::int32_t> context_in_cache(const engine_options& options, std::int32_t context,
                                      const started_device& started) {
  const kv_layout layout = started.device->layout();
  // A context that nobody asked for leaves of a device's cache the quarter that the cache may have to give.
  const bool leaves_some = options.cuda && options.max_model_len == 0;
  const std::int32_t left = leaves_some ? layout.num_blocks / 4 : 0;
  const std::int64_t held = std::int64_t{layout.num_blocks - left} * layout.block_size;
  if (held >= context) return context;
  const std::int64_t needed_blocks = blocks_for(context, layout.block_size);
  const std::int64_t blocks = leaves_some ? needed_blocks + (needed_blocks + 2) / 3 : needed_blocks;
  const std::uint64_t needed = static_cast<std::uint64_t>(blocks) * layout.bytes_per_block;
  const std::uint64_t beside =
      static_cast<std::uint64_t>(blocks) * claim_beside(started.draft_device.get()).bytes_beside;
  const std::string remedy =
      options.cuda
          ? fmt::format("raise gpu_memory_utilization: it takes {} MiB{}", ((needed + beside) >> 20U) + 1,
                        beside > 0 ? ", the draft model's cache among it" : "")
          : fmt::format("raise kv_cache_memory to {} MiB ({})", (needed >> 20U) + 1,
                        describe_kv_cache_memory(options));
  if (options.max_model_len > 0)
    return fail(error_code::invalid_argument,
                fmt::format("max_model_len is {}, but the KV cache holds only {} tokens: lower max_model_len "
                            "to {}, or {}",
                            context, held, held, remedy),
                "max_model_len");
  spdlog::warn("the longest context is {} tokens, {} {}: max_model_len is {}{}; {} for all of it", context,
               leaves_some ? "and the KV cache holds" : "but the KV cache holds only",
               std::int64_t{layout.num_blocks} * layout.block_size, held,
               leaves_some ? ", and leaves the quarter that the cache may have to give" : "", remedy);
  return static_cast<std::int32_t>(held);
}

}  // namespace troupe
