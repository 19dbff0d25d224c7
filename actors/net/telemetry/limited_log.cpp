#include "actors/net/telemetry/limited_log.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <boost/core/demangle.hpp>
#include <typeinfo>

namespace troupe::net {

void limited_log::error(steady_time now, std::string_view text) { write(spdlog::level::err, now, text); }
bool limited_log::warn(steady_time now, std::string_view text) {
  return write(spdlog::level::warn, now, text);
}

bool limited_log::write(spdlog::level::level_enum level, steady_time now, std::string_view text) {
  const auto left_out = limit_.pass(now);
  if (!left_out) return false;
  if (*left_out == 0) {
    spdlog::log(level, "{}", text);
  } else {
    spdlog::log(level, "{}; {} such messages were left out before it", text, *left_out);
  }
  return true;
}

void limited_log::error(steady_time now, std::string_view what, const std::exception& fault) {
  error(now, fmt::format("{} ({})", what, boost::core::demangle(typeid(fault).name())));
}

}  // namespace troupe::net
