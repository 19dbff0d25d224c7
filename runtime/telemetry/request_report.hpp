// All that is told of a request once it has ended: in the log, and in traces. Never what its client wrote but
// the name that it gave the request, and never what it was answered.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/request.hpp"
#include "runtime/result.hpp"
#include "runtime/stream.hpp"
#include "runtime/telemetry/trace_context.hpp"

namespace troupe {

// Why a request was refused or failed: of an error what this program wrote into it, not its message, which
// may repeat the client's words.
struct request_failure {
  int status = 0;          // of HTTP
  std::string code;        // "invalid_value"
  std::string param = {};  // the member at fault, where there is one
};
request_failure failure_of(const error& why);

// How a request wants to be answered.
struct request_wishes {
  bool chat = false;
  std::int32_t choices = 1;
  std::optional<std::int32_t> max_tokens = {};
  float temperature = 1.0F;
  float top_p = 1.0F;
};

struct request_report {
  std::string id = {};            // as the client knows it; empty where it was refused before it had one
  std::string refusal_id = {};    // what its client knows it by then: X-Request-Id of the answer
  std::string client_id = {};     // its X-Request-Id
  request_id number = 0;          // of its first answer in the engine; 0 where it did not get that far
  std::string_view gateway = {};  // "http", "tcp"
  std::string route = {};         // "/v1/completions"; empty for one that is not served
  std::string model = {};
  std::optional<trace_context> caller = {};   // whose span it belongs to
  std::optional<request_wishes> wishes = {};  // once they were understood

  std::vector<finish_reason> reasons = {};  // by answer; none where it was refused
  bool given_up = false;                    // its client left before the end, or was cut off
  std::optional<request_failure> failure = {};
  usage tokens = {};
  std::int32_t preemptions = 0;
  std::int32_t accepted_drafts = 0;
  std::chrono::nanoseconds grammar_wait{0};

  steady_time received{};    // its first byte
  steady_time ended{};       // the last byte of its answer was written, or nobody waits for that any more
  request_times times = {};  // in the engine; the first of its answers' beginnings, the last of their ends
};

// Those between the moments above; absent where one of them is.
struct request_durations {
  std::optional<std::chrono::nanoseconds> queue = {};        // to its first step
  std::optional<std::chrono::nanoseconds> prefill = {};      // from there to its first token
  std::optional<std::chrono::nanoseconds> decode = {};       // from there to its last
  std::optional<std::chrono::nanoseconds> first_token = {};  // since its first byte came
  std::chrono::nanoseconds total{0};
};
request_durations durations_of(const request_report& report);

// Ended by an error, by its time or refused: not as its client had hoped.
bool has_failed(const request_report& report);

}  // namespace troupe
