#include "runtime/bucketing/make_buckets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/bucketing/bucket_file.hpp"
#include "runtime/bucketing/text_file.hpp"
#include "runtime/bucketing/unified_buckets.hpp"

namespace troupe {
namespace {

using values = std::vector<std::int32_t>;

tl::unexpected<error> refuse(const std::string& option, const std::string& fault) {
  return fail(error_code::invalid_argument, option + " " + fault, option);
}

// `prefix`: "prompt_query_bucket_".
result<bucket_range> resolve(const bucket_dimension& named, const bucket_range& defaults, std::int32_t lowest,
                             std::int32_t limit_scale, const std::string& prefix) {
  bucket_range range;
  range.step = named.step.value_or(defaults.step);
  range.max = named.max.value_or(defaults.max);
  range.min = named.min.value_or(std::min(defaults.min, range.max));
  range.limit = named.limit.value_or(
      std::min(default_bucket_limit(std::int64_t{range.max} * limit_scale), max_bucket_limit));
  if (range.min < lowest) {
    return refuse(prefix + "min", fmt::format("must be at least {}, got {}", lowest, range.min));
  }
  if (range.step < 1) return refuse(prefix + "step", fmt::format("must be at least 1, got {}", range.step));
  if (range.limit < 1 || range.limit > max_bucket_limit) {
    return refuse(prefix + "limit", fmt::format("must be 1 to {}, got {}", max_bucket_limit, range.limit));
  }
  if (range.max > max_bucket_value || range.step > max_bucket_value) {
    const char* which = range.max > max_bucket_value ? "max" : "step";
    return refuse(prefix + which, fmt::format("must be at most {}, got {}", max_bucket_value,
                                              std::max(range.max, range.step)));
  }
  if (range.min > range.max) {
    return refuse(prefix + "min",
                  fmt::format("must be at most {}max ({}), got {}", prefix, range.max, range.min));
  }
  return range;
}

result<phase_ranges> resolve(const phase_dimensions& named, const phase_ranges& defaults,
                             std::int32_t blocks_scale, const std::string& phase) {
  auto batch = resolve(named.batch, defaults.batch, 1, 1, phase + "_bs_bucket_");
  if (!batch) return tl::unexpected(batch.error());
  auto query = resolve(named.query, defaults.query, 1, 1, phase + "_query_bucket_");
  if (!query) return tl::unexpected(query.error());
  auto blocks = resolve(named.blocks, defaults.blocks, 0, blocks_scale, phase + "_block_bucket_");
  if (!blocks) return tl::unexpected(blocks.error());
  return phase_ranges{*batch, *query, *blocks};
}

result<values> make_values(const bucketing_options& options, const bucket_range& range,
                           const std::string& prefix) {
  if (options.strategy == bucketing_strategy::exponential) return exponential_values(range, options.fill);
  if (static_cast<std::size_t>(range.max / range.step) > max_buckets) {
    return refuse(prefix + "step", fmt::format("{} makes more than {} values up to {}max ({})", range.step,
                                               max_buckets, prefix, range.max));
  }
  values out = linear_values(range);
  if (out.empty()) {
    return refuse(prefix + "step", fmt::format("{} has no multiple from {}min ({}) to {}max ({})", range.step,
                                               prefix, range.min, prefix, range.max));
  }
  return out;
}

result<std::vector<bucket>> combine(const values& batches, const values& queries, const values& blocks,
                                    const char* phase) {
  if (batches.size() > max_buckets || queries.size() > max_buckets || blocks.size() > max_buckets ||
      batches.size() * queries.size() > max_buckets ||
      batches.size() * queries.size() * blocks.size() > max_buckets) {
    return fail(error_code::invalid_argument,
                fmt::format("bucketing_strategy: {} x {} x {} {} buckets are more than {}", batches.size(),
                            queries.size(), blocks.size(), phase, max_buckets),
                "bucketing_strategy");
  }
  std::vector<bucket> out;
  out.reserve(batches.size() * queries.size() * blocks.size());
  for (const std::int32_t batch : batches) {
    for (const std::int32_t query : queries) {
      for (const std::int32_t context : blocks) out.push_back({batch, query, context});
    }
  }
  return out;
}

result<std::vector<bucket>> phase_buckets(const bucketing_options& options, const phase_ranges& ranges,
                                          const std::optional<values>& batch_sizes, const char* phase) {
  const std::string name = phase;
  auto batches =
      batch_sizes ? result<values>(*batch_sizes) : make_values(options, ranges.batch, name + "_bs_bucket_");
  if (!batches) return tl::unexpected(batches.error());
  auto queries = make_values(options, ranges.query, name + "_query_bucket_");
  if (!queries) return tl::unexpected(queries.error());
  auto blocks = make_values(options, ranges.blocks, name + "_block_bucket_");
  if (!blocks) return tl::unexpected(blocks.error());
  return combine(*batches, *queries, *blocks, phase);
}

// Batch sizes counted down from the largest, ascending; nothing where they are not asked for.
result<std::optional<values>> counted_down(const bucketing_options& options, const engine_sizes& sizes) {
  if (!options.decode_batch) return std::optional<values>();
  auto found = decode_batch_values(*options.decode_batch, sizes.max_num_seqs);
  if (!found) return tl::unexpected(found.error());
  std::reverse(found->begin(), found->end());
  return std::optional<values>(std::move(*found));
}

result<bucket_plan> from_ranges(const bucketing_options& options, const engine_sizes& sizes,
                                const std::optional<values>& decode_batches) {
  bucket_plan plan;
  plan.strategy = options.strategy;
  auto prompts = prompt_ranges(options, sizes);
  if (!prompts) return tl::unexpected(prompts.error());
  auto decodes = decode_ranges(options, sizes);
  if (!decodes) return tl::unexpected(decodes.error());
  plan.prompt_ranges = *prompts;
  plan.decode_ranges = *decodes;
  if (const auto& down = options.decode_batch) {
    plan.decode_ranges.batch = {down->min, down->step, sizes.max_num_seqs, down->limit};
  }
  auto prompt = phase_buckets(options, *prompts, std::nullopt, "prompt");
  if (!prompt) return tl::unexpected(prompt.error());
  auto decode = phase_buckets(options, *decodes, decode_batches, "decode");
  if (!decode) return tl::unexpected(decode.error());
  plan.prompt = std::move(*prompt);
  plan.decode = std::move(*decode);
  std::erase_if(plan.prompt, [&](const bucket& b) {
    return b.query + std::int64_t{b.blocks} * sizes.block_size > sizes.max_model_len;
  });
  return plan;
}

result<bucket_plan> from_file(const bucketing_options& options) {
  auto text = read_text_file(options.from_file, max_bucket_file_bytes);
  if (!text) return refuse("bucketing_from_file", "cannot be used: " + text.error().message);
  auto buckets = parse_buckets(*text, options.from_file);
  if (!buckets) return tl::unexpected(buckets.error());
  bucket_plan plan;
  plan.strategy = options.strategy;
  plan.from_file = true;
  for (const bucket& each : *buckets) (each.query == 1 ? plan.decode : plan.prompt).push_back(each);
  return plan;
}

result<void> check(const engine_sizes& sizes) {
  const auto require = [](std::int32_t value, const char* option) -> result<void> {
    if (value >= 1) return {};
    return refuse(option, fmt::format("must be at least 1, got {}", value));
  };
  for (const auto& [value, option] :
       {std::pair{sizes.max_num_seqs, "max_num_seqs"},
        std::pair{sizes.max_num_batched_tokens, "max_num_batched_tokens"},
        std::pair{sizes.block_size, "block_size"}, std::pair{sizes.max_model_len, "max_model_len"},
        std::pair{sizes.num_blocks, "num_blocks"}}) {
    if (auto checked = require(value, option); !checked) return checked;
  }
  return {};
}

}  // namespace

result<phase_ranges> prompt_ranges(const bucketing_options& options, const engine_sizes& sizes) {
  phase_ranges defaults;
  defaults.batch = {1, 1, 1, 1};
  defaults.query = {sizes.block_size, sizes.block_size,
                    std::min(sizes.max_num_batched_tokens, sizes.max_model_len), 1};
  const std::int32_t shortest = options.prompt.query.min.value_or(
      std::min(defaults.query.min, options.prompt.query.max.value_or(defaults.query.max)));
  defaults.blocks = {0, 1, std::max(0, (sizes.max_model_len - shortest) / sizes.block_size), 1};
  return resolve(options.prompt, defaults, sizes.block_size, "prompt");
}

result<phase_ranges> decode_ranges(const bucketing_options& options, const engine_sizes& sizes) {
  const bool linear = options.strategy == bucketing_strategy::linear;
  phase_ranges defaults;
  defaults.batch = {1, linear ? std::min(32, sizes.max_num_seqs) : 1, sizes.max_num_seqs, 1};
  defaults.query = {1, 1, 1, 1};
  defaults.blocks = {sizes.block_size, sizes.block_size, sizes.num_blocks, 1};
  return resolve(options.decode, defaults, 1, "decode");
}

result<bucket_plan> make_buckets(const bucketing_options& options, const engine_sizes& sizes) {
  const bool no_file = options.from_file.empty();
  const bool refused =
      options.strategy == bucketing_strategy::unified || options.strategy == bucketing_strategy::none;
  if (!no_file && refused) {
    const char* name = options.strategy == bucketing_strategy::none ? "none" : "unified";
    return refuse("bucketing_from_file", fmt::format("cannot go with bucketing_strategy {}, got '{}'", name,
                                                     excerpt(options.from_file)));
  }
  if (auto checked = check(sizes); !checked) return tl::unexpected(checked.error());
  const auto decode_batches = counted_down(options, sizes);
  if (!decode_batches) return tl::unexpected(decode_batches.error());
  if (!no_file) return from_file(options);
  bucket_plan plan;
  plan.strategy = options.strategy;
  switch (options.strategy) {
    case bucketing_strategy::none:
      return plan;
    case bucketing_strategy::unified:
      plan.unified = unified_buckets(sizes);
      return plan;
    case bucketing_strategy::exponential:
    case bucketing_strategy::linear:
      return from_ranges(options, sizes, *decode_batches);
  }
  return plan;
}

}  // namespace troupe
