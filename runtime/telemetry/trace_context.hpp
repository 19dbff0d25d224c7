// What a client says of the trace that its request belongs to: W3C Trace Context
// (https://www.w3.org/TR/trace-context/), and whether the request is to be traced.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace troupe {

using trace_id = std::array<std::uint8_t, 16>;
using span_id = std::array<std::uint8_t, 8>;

// The caller's span, whose child the request is.
struct trace_context {
  trace_id trace{};
  span_id parent{};
  bool sampled = false;
  std::string state = {};  // its tracestate
};

// Nothing where `traceparent` is not valid: version ff, ids of zeros, capital letters, another length. Of a
// version that is not known yet what version 00 has is read.
std::optional<trace_context> parse_traceparent(std::string_view traceparent);
// The list as it is to be passed on, without spaces and empty members; empty where it is not valid, or beyond
// 512 characters or 32 members.
std::string parse_tracestate(std::string_view tracestate);
// Both: without a valid traceparent there is no context.
std::optional<trace_context> read_trace_context(std::string_view traceparent, std::string_view tracestate);

// "0af7651916cd43dd8448eb211c80319c"
std::string to_hex(const trace_id& id);
std::string to_hex(const span_id& id);

// Which requests are traced, as OpenTelemetry's built-in samplers decide it.
struct trace_sampling {
  bool asks_parent = true;  // what a caller with a context has decided holds
  double share = 1.0;       // of the others, by their trace ids
};
// always_on, always_off, traceidratio, and these with parentbased_ before them. `argument`: the share, of
// traceidratio; empty: 1. Errors: invalid_argument.
result<trace_sampling> parse_trace_sampling(std::string_view sampler, std::string_view argument);
bool is_sampled(const trace_sampling& sampling, const std::optional<trace_context>& caller,
                const trace_id& trace);

}  // namespace troupe
