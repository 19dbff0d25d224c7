#include "runtime/telemetry/request_report.hpp"

#include <algorithm>

#include "runtime/openai/error_body.hpp"

namespace troupe {
namespace {

std::optional<std::chrono::nanoseconds> between(const std::optional<steady_time>& from,
                                                const std::optional<steady_time>& to) {
  if (!from || !to || *to < *from) return std::nullopt;  // of different answers, where not all are known
  return *to - *from;
}

// A JSON pointer leads through the client's own schema, whose names are its own words.
std::string own_words(const std::string& param) {
  const bool is_pointer = param.find('/') != std::string::npos;
  return is_pointer ? "grammar" : param;
}

}  // namespace

request_failure failure_of(const error& why) {
  return {openai::http_status(why.code), openai::error_word(why), own_words(why.param)};
}

request_durations durations_of(const request_report& report) {
  const request_times& times = report.times;
  request_durations spent;
  spent.queue = between(times.arrival, times.scheduled);
  spent.prefill = between(times.scheduled, times.first_token);
  spent.decode = between(times.first_token, times.last_token);
  spent.first_token = between(report.received, times.first_token);
  spent.total = report.ended - report.received;
  return spent;
}

bool has_failed(const request_report& report) {
  return report.failure || std::ranges::count(report.reasons, finish_reason::timeout) > 0;
}

}  // namespace troupe
