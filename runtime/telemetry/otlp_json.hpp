// Spans as the body of OTLP/HTTP in JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/telemetry/request_spans.hpp"

namespace troupe {

// Who sends them.
struct trace_resource {
  std::string service_name;
  std::string version;  // of the program
};

// An ExportTraceServiceRequest: ids in hexadecimal, 64-bit numbers as text.
std::string otlp_json(const std::vector<trace_spans>& traces, const trace_resource& resource);

// How many spans an answer of status 200 says were not taken (partialSuccess.rejectedSpans); 0 where it says
// nothing of the kind.
std::uint64_t rejected_spans(std::string_view answer);

}  // namespace troupe
