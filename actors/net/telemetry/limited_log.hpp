// Lines of the log that others can bring about as often as they like: seldom, and without their words.
#pragma once
#include <spdlog/common.h>

#include <chrono>
#include <exception>
#include <string_view>

#include "runtime/telemetry/rate_limit.hpp"

namespace troupe::net {

// Five at once at most, and one each ten seconds. The next one says how many were left out. One thread at a
// time.
class limited_log {
 public:
  void error(steady_time now, std::string_view text);
  // Whether it was written.
  bool warn(steady_time now, std::string_view text);
  // "request 7 could not be tokenized (St9bad_alloc)": of `fault` its type alone, for its words may be a
  // client's.
  void error(steady_time now, std::string_view what, const std::exception& fault);

 private:
  bool write(spdlog::level::level_enum level, steady_time now, std::string_view text);

  rate_limit limit_{5, std::chrono::seconds(10)};
};

}  // namespace troupe::net
