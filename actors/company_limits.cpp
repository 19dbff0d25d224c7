#include "actors/company_limits.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/step_batch.hpp"

namespace troupe {
namespace {

// Nothing is a number in the range of nobody.
bool is_between(double value, double least, double most) { return value >= least && value <= most; }

bool is_known(scheduling_policy policy) {
  return policy >= scheduling_policy::fcfs && policy <= scheduling_policy::drr;
}

struct rule {
  const char* name;
  bool is_kept;
  const char* range;
};

result<void> check(std::span<const rule> rules) {
  for (const rule& each : rules)
    if (!each.is_kept)
      return fail(error_code::invalid_argument, fmt::format("{} must be {}", each.name, each.range),
                  each.name);
  return {};
}

tl::unexpected<error> beyond_the_device(const char* name, std::int32_t wanted, std::int32_t at_start) {
  return fail(error_code::invalid_argument,
              fmt::format("{} cannot become {}: the device was started for {}; more needs a restart", name,
                          wanted, at_start),
              name);
}

}  // namespace

result<void> check_prompt_fits_step(const scheduler_limits& limits) {
  if (limits.enable_chunked_prefill || limits.max_num_batched_tokens >= limits.max_model_len) return {};
  return fail(
      error_code::invalid_argument,
      fmt::format("without chunked prefill a prompt runs in one step, but max_num_batched_tokens ({}) is "
                  "smaller than max_model_len ({}): raise the one or lower the other",
                  limits.max_num_batched_tokens, limits.max_model_len),
      "max_num_batched_tokens");
}

// By less than these nobody is served, or somebody is blamed for it. More than the options of `troupe serve`
// have is the embedding program's own affair where it does no harm: a deadline without end is one.
result<void> check_limits(const company_limits& wanted) {
  const scheduler_limits& scheduling = wanted.scheduling;
  const std::string steps = fmt::format("between 1 and {}", most_steps_in_flight);
  const rule rules[] = {
      {"max_num_seqs", scheduling.max_num_seqs >= 1, "at least 1"},
      {"max_num_batched_tokens", scheduling.max_num_batched_tokens >= 1, "at least 1"},
      {"max_steps_in_flight", is_between(scheduling.max_steps_in_flight, 1, most_steps_in_flight),
       steps.c_str()},
      {"scheduling_policy", is_known(scheduling.policy), "fcfs, priority, lpm or drr"},
      {"priority_patience", scheduling.priority_patience >= 0, "at least 0"},
      {"long_prefill_token_threshold", scheduling.long_prefill_token_threshold >= 0, "at least 0"},
      {"max_num_partial_prefills", scheduling.max_num_partial_prefills >= 1, "at least 1"},
      {"long_prefill_share", is_between(scheduling.long_prefill_share, 0.001, 1), "between 0.001 and 1"},
      {"watermark", is_between(scheduling.watermark, 0, 0.5), "between 0 and 0.5"},
      {"request_timeout", wanted.request_timeout.count() >= 0, "at least 0"},
      {"queue_timeout", wanted.queue_timeout.count() >= 0, "at least 0"},
      {"step_deadline", wanted.step_deadline >= std::chrono::milliseconds(100), "at least 100 ms"},
  };
  return check(rules).and_then([&] { return check_limits(wanted.connections); });
}

result<void> check_limits(const net::connection_limits& wanted) {
  const auto is_some_time = [](std::chrono::milliseconds time) {
    return time >= std::chrono::milliseconds(1);
  };
  const rule rules[] = {
      {"max_connections", wanted.max_connections >= 1, "at least 1"},
      {"max_body_bytes", wanted.max_body_bytes >= 1, "at least 1"},
      {"max_stream_buffer_bytes", wanted.max_stream_buffer_bytes >= 1, "at least 1"},
      {"header_timeout", is_some_time(wanted.header_timeout), "at least 1 ms"},
      {"read_timeout", is_some_time(wanted.read_timeout), "at least 1 ms"},
      {"write_timeout", is_some_time(wanted.write_timeout), "at least 1 ms"},
      {"idle_timeout", is_some_time(wanted.idle_timeout), "at least 1 ms"},
  };
  return check(rules);
}

result<void> check_limits(const scheduler_limits& at_start, const scheduler_limits& wanted) {
  if (wanted.max_num_seqs > at_start.max_num_seqs)
    return beyond_the_device("max_num_seqs", wanted.max_num_seqs, at_start.max_num_seqs);
  if (wanted.max_num_batched_tokens > at_start.max_num_batched_tokens)
    return beyond_the_device("max_num_batched_tokens", wanted.max_num_batched_tokens,
                             at_start.max_num_batched_tokens);
  scheduler_limits together = at_start;
  together.max_num_batched_tokens = wanted.max_num_batched_tokens;
  return check_prompt_fits_step(together);
}

}  // namespace troupe
