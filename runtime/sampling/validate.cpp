#include <fmt/format.h>
#include <cmath>
#include <cstddef>
#include <limits>

#include "runtime/sampling/sampler.hpp"

namespace troupe {

namespace {

struct float_range {
  const char* name;
  float sampling_params::*field;
  float least;
  bool least_excluded;
  float greatest;
};
constexpr float_range float_ranges[] = {
    {"temperature", &sampling_params::temperature, 0.0F, false, 2.0F},
    {"top_p", &sampling_params::top_p, 0.0F, false, 1.0F},
    {"min_p", &sampling_params::min_p, 0.0F, false, 1.0F},
    {"presence_penalty", &sampling_params::presence_penalty, -2.0F, false, 2.0F},
    {"frequency_penalty", &sampling_params::frequency_penalty, -2.0F, false, 2.0F},
    {"repetition_penalty", &sampling_params::repetition_penalty, 0.0F, true, 10.0F},
};
constexpr float max_bias = 100.0F;

tl::unexpected<error> refuse(std::string_view name, std::string message) {
  return fail(error_code::invalid_argument, std::move(message), std::string(name));
}

result<void> validate_floats(const sampling_params& params) {
  for (const float_range& range : float_ranges) {
    const float value = params.*range.field;
    const bool high_enough = range.least_excluded ? value > range.least : value >= range.least;
    if (high_enough && value <= range.greatest) continue;  // false for NaN
    const std::string bounds =
        range.least_excluded ? fmt::format("greater than {} and at most {}", range.least, range.greatest)
                             : fmt::format("between {} and {}", range.least, range.greatest);
    return refuse(range.name, fmt::format("{} must be {}, got {}", range.name, bounds, value));
  }
  return {};
}

result<void> validate_integers(const sampling_params& params, const sampling_limits& limits) {
  if (params.max_tokens && *params.max_tokens < 1) {
    return refuse(params.max_tokens_field,
                  fmt::format("{} must be at least 1, got {}", params.max_tokens_field, *params.max_tokens));
  }
  if (params.min_tokens < 0) {
    return refuse("min_tokens", fmt::format("min_tokens must be at least 0, got {}", params.min_tokens));
  }
  if (params.max_tokens && params.min_tokens > *params.max_tokens) {
    return refuse("min_tokens", fmt::format("min_tokens must be at most {} ({}), got {}",
                                            params.max_tokens_field, *params.max_tokens, params.min_tokens));
  }
  if (params.top_k < -1) {
    return refuse("top_k", fmt::format("top_k must be -1 or 0 (all) or at least 1, got {}", params.top_k));
  }
  if (params.num_speculative_tokens && *params.num_speculative_tokens < 0) {
    return refuse("num_speculative_tokens", fmt::format("num_speculative_tokens must be at least 0, got {}",
                                                        *params.num_speculative_tokens));
  }
  const auto count_in_range = [&](const char* name, std::optional<std::int32_t> value) -> result<void> {
    if (!value || (*value >= 0 && *value <= limits.max_logprobs)) return {};
    return refuse(name,
                  fmt::format("{} must be between 0 and {}, got {}", name, limits.max_logprobs, *value));
  };
  if (auto checked = count_in_range("logprobs", params.logprobs); !checked) return checked;
  return count_in_range("prompt_logprobs", params.prompt_logprobs);
}

result<void> validate_token(const char* name, token_id id, const sampling_limits& limits) {
  if (id >= 0 && id < limits.vocab_size) return {};
  return refuse(
      name, fmt::format("{} must hold token ids between 0 and {}, got {}", name, limits.vocab_size - 1, id));
}

result<void> validate_size(const char* name, std::size_t size, const sampling_limits& limits) {
  if (size <= static_cast<std::size_t>(limits.vocab_size)) return {};
  return refuse(name, fmt::format("{} must hold at most {} entries, got {}", name, limits.vocab_size, size));
}

result<void> validate_stops(const sampling_params& params, const sampling_limits& limits) {
  if (params.stop.size() > limits.max_stop_strings) {
    return refuse("stop", fmt::format("stop must hold at most {} strings, got {}", limits.max_stop_strings,
                                      params.stop.size()));
  }
  for (const std::string& text : params.stop) {
    if (text.empty()) return refuse("stop", "stop must not hold an empty string");
  }
  if (auto checked = validate_size("stop_token_ids", params.stop_token_ids.size(), limits); !checked)
    return checked;
  for (const token_id id : params.stop_token_ids) {
    if (auto checked = validate_token("stop_token_ids", id, limits); !checked) return checked;
  }
  return {};
}

result<void> validate_bias(const sampling_params& params, const sampling_limits& limits) {
  if (auto checked = validate_size("logit_bias", params.logit_bias.size(), limits); !checked) return checked;
  for (const auto& [id, bias] : params.logit_bias) {
    if (auto checked = validate_token("logit_bias", id, limits); !checked) return checked;
    if (!(std::fabs(bias) <= max_bias)) {
      return refuse("logit_bias",
                    fmt::format("logit_bias must hold values between {} and {}, got {} for token {}",
                                -max_bias, max_bias, bias, id));
    }
  }
  return {};
}

}  // namespace

result<void> validate(const sampling_params& params, const sampling_limits& limits) {
  if (auto checked = validate_floats(params); !checked) return checked;
  if (auto checked = validate_integers(params, limits); !checked) return checked;
  if (auto checked = validate_stops(params, limits); !checked) return checked;
  return validate_bias(params, limits);
}

}  // namespace troupe
