#include "runtime/bucketing/bucket_text.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace troupe {
namespace {

constexpr std::size_t most_shown = 1024;
constexpr std::size_t shown_at_each_end = 8;

std::string numbers(const bucket_range& range, bool with_limit) {
  std::string text = fmt::format("[{}, {}, {}", range.min, range.step, range.max);
  return text + (with_limit ? fmt::format(", {}]", range.limit) : "]");
}

std::string config_line(const char* phase, const phase_ranges& ranges, const char* dimension,
                        const bucket_range& second, bool with_limit) {
  return fmt::format("{} bucket config (min, step, max_warmup{}) bs:{}, {}:{}", phase,
                     with_limit ? ", limit" : "", numbers(ranges.batch, with_limit), dimension,
                     numbers(second, with_limit));
}

template <class Bucket>
std::string generated_line(const char* phase, const char* dimensions, const std::vector<Bucket>& buckets) {
  std::string list;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const bool hidden =
        buckets.size() > most_shown && i >= shown_at_each_end && i + shown_at_each_end < buckets.size();
    if (hidden && i != shown_at_each_end) continue;
    list += (i == 0 ? "" : ", ") + (hidden ? std::string("...") : to_string(buckets[i]));
  }
  return fmt::format("Generated {} {} buckets [{}]: [{}]", buckets.size(), phase, dimensions, list);
}

}  // namespace

std::string to_string(const bucket& b) { return fmt::format("({}, {}, {})", b.batch, b.query, b.blocks); }

std::string to_string(const unified_bucket& b) {
  return fmt::format("({}, {}, {}, {})", b.query, b.shared_blocks, b.unique_blocks, b.causal ? 1 : 0);
}

std::vector<std::string> describe(const bucket_plan& plan) {
  std::vector<std::string> lines;
  if (plan.strategy == bucketing_strategy::none) return lines;
  if (plan.strategy == bucketing_strategy::unified) {
    lines.push_back(generated_line("unified", "query, shared_blocks, unique_blocks", plan.unified));
    return lines;
  }
  if (!plan.from_file) {
    const bool with_limit = plan.strategy == bucketing_strategy::exponential;
    lines.push_back(config_line("Prompt", plan.prompt_ranges, "seq", plan.prompt_ranges.query, with_limit));
    lines.push_back(
        config_line("Decode", plan.decode_ranges, "block", plan.decode_ranges.blocks, with_limit));
  }
  lines.push_back(generated_line("prompt", "bs, query, num_blocks", plan.prompt));
  lines.push_back(generated_line("decode", "bs, query, num_blocks", plan.decode));
  return lines;
}

}  // namespace troupe
