// The report of a request as spans of a trace: one for all of it, and below it queue, prefill and decode.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/telemetry/request_report.hpp"
#include "runtime/telemetry/trace_context.hpp"

namespace troupe {

using attribute_value = std::variant<std::int64_t, double, std::string, std::vector<std::string>>;
using span_attributes = std::vector<std::pair<std::string_view, attribute_value>>;

enum class span_kind { internal = 1, server = 2 };  // OTLP's numbers

struct trace_span {
  std::string_view name;
  span_kind kind = span_kind::internal;
  span_id id{};
  std::optional<span_id> parent = {};
  std::int64_t begin = 0;  // unix nanoseconds
  std::int64_t end = 0;
  span_attributes attributes = {};
  bool failed = false;
};

// All of one trace.
struct trace_spans {
  trace_id trace{};
  std::string state = {};
  std::vector<trace_span> spans = {};
};

// Random bits; the only source of ids.
using random_bits = std::function<std::uint64_t()>;
trace_id draw_trace_id(const random_bits& random);

// How many spans_of() gives.
std::size_t count_spans(const request_report& report);
// `unix_epoch`: what is added to a steady time to make it unix time. Names of attributes are those of
// OpenTelemetry's conventions for generative AI, and vLLM's where it has others.
trace_spans spans_of(const request_report& report, const trace_id& trace, std::chrono::nanoseconds unix_epoch,
                     const random_bits& random);

}  // namespace troupe
