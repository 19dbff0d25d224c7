// One line of the log for each request, at its end. What a client wrote as its prompt is never in it.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/stream.hpp"

namespace troupe::net {

// A request that the engine has. Hears all of its events; its line is written when it goes:
//   request chatcmpl-1: model=m prompt_tokens=31 cached_tokens=16 completion_tokens=12 finish_reason=stop
//   ttft_ms=35.2 total_ms=120.4
// Several answers have their reasons separated by commas; one whose end was not waited for was aborted. A
// request that failed before its first token was refused: its line is that of log_refusal().
class request_log {
 public:
  using clock = std::chrono::steady_clock;

  // `name` as the client knows it.
  request_log(std::string name, std::string model, std::int32_t choices);
  ~request_log();
  request_log(const request_log&) = delete;
  request_log& operator=(const request_log&) = delete;

  // Of the answer at `index`, which must be below the number of choices.
  void add(std::size_t index, const stream_event& event);

 private:
  struct choice {
    usage tokens = {};
    std::optional<finish_reason> reason = {};
  };

  void write() const;

  const std::string name_;
  const std::string model_;
  const clock::time_point begin_ = clock::now();
  std::optional<clock::time_point> first_token_;
  std::vector<choice> choices_;
  std::optional<error> failure_;
};

// "status=400 code=invalid_value param=temperature": of an error what this program wrote into it, not its
// message, which may repeat the client's words.
std::string refusal_text(const error& failure);
// request NAME: refused status=400 code=invalid_value param=temperature
void log_refusal(std::string_view name, std::string_view text);

}  // namespace troupe::net
