// The log: text with the time on a terminal, one JSON object per line otherwise; to the standard error
// stream.
#pragma once
#include <spdlog/common.h>
#include <spdlog/formatter.h>

#include <memory>
#include <string>

#include "actors/net/telemetry/request_log.hpp"
#include "config/settings.hpp"

namespace troupe::cli {

// Makes spdlog's default logger that of the settings. Prompts and answers are never logged.
void start_logging(const config::settings& settings);
// Who writes the lines of requests, into the log that start_logging() has opened. Once in a process.
std::shared_ptr<net::request_log> open_request_log(const config::settings& settings);
// The form and level of both by other settings, made ready: to take them up cannot fail.
class log_change {
 public:
  explicit log_change(const config::settings& settings);
  void take_up(net::request_log& requests) noexcept;  // once; any thread

 private:
  std::unique_ptr<spdlog::formatter> formatter_;
  net::line_form form_;
  net::logged_requests requests_;
  spdlog::level::level_enum level_;
};

// For as long as it lives neither tells anything below a warning, whatever the level, since a progress bar
// has the terminal.
class quiet_log {
 public:
  quiet_log();
  ~quiet_log();
  quiet_log(const quiet_log&) = delete;
  quiet_log& operator=(const quiet_log&) = delete;
};

// The form of the log's lines as the option log_format has it, never "auto". Any thread.
std::string log_format();
// By the words of the option log_level. Any thread.
std::string log_level();
void set_log_level(const std::string& level);
// A line of level info, whatever the level is. Any thread.
void log_at_any_level(const std::string& line);

}  // namespace troupe::cli
