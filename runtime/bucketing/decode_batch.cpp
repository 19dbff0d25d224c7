#include "runtime/bucketing/decode_batch.hpp"

#include <fmt/format.h>

#include <string>

namespace troupe {
namespace {

tl::unexpected<error> refuse(const char* option, const char* rule, std::int32_t value) {
  return fail(error_code::invalid_argument, fmt::format("{} must be {}, got {}", option, rule, value),
              option);
}

result<void> check(const decode_batch_options& options, std::int32_t max_num_seqs) {
  const bool divides = options.kind == decode_batch_options::strategy::exponential;
  if (options.min < 1) return refuse("decode_batch_bucket_min", "greater than 0", options.min);
  if (options.step < 1) return refuse("decode_batch_bucket_step", "greater than 0", options.step);
  if (options.limit < 1) return refuse("decode_batch_bucket_limit", "greater than 0", options.limit);
  if (divides && options.step < 2) {
    return refuse("decode_batch_bucket_step", "greater than 1 for the exponential strategy", options.step);
  }
  if (options.min > max_num_seqs) {
    const std::string rule = fmt::format("at most max_num_seqs ({})", max_num_seqs);
    return refuse("decode_batch_bucket_min", rule.c_str(), options.min);
  }
  return {};
}

}  // namespace

result<std::vector<std::int32_t>> decode_batch_values(const decode_batch_options& options,
                                                      std::int32_t max_num_seqs) {
  if (auto checked = check(options, max_num_seqs); !checked) return tl::unexpected(checked.error());
  const bool divides = options.kind == decode_batch_options::strategy::exponential;
  std::vector<std::int32_t> values;
  for (std::int32_t size = max_num_seqs;
       size >= options.min && static_cast<std::int32_t>(values.size()) < options.limit;
       size = divides ? size / options.step : size - options.step) {
    values.push_back(size);
  }
  return values;
}

}  // namespace troupe
