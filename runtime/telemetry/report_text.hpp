// The report of a request as one line of a log.
#pragma once
#include <string>

#include "runtime/telemetry/request_report.hpp"

namespace troupe {

// request request_id=chatcmpl-1 gateway=http route=/v1/completions ... total_ms=120.4
// What is not known is left out. A value with a space, a quote or '=' in it stands in quotes, as JSON has
// them.
std::string report_line(const request_report& report);
// The same fields as a JSON object, in the same order: numbers are numbers.
std::string report_json(const request_report& report);

}  // namespace troupe
