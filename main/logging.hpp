// The log: text with the time on a terminal, one JSON object per line otherwise; to the standard error
// stream.
#pragma once
#include <memory>
#include <string>

#include "actors/net/request_log.hpp"
#include "config/settings.hpp"

namespace troupe::cli {

// Makes spdlog's default logger that of the settings. Prompts and answers are never logged.
void start_logging(const config::settings& settings);
// Who writes the lines of requests, into the log that start_logging() has opened. Once in a process.
std::shared_ptr<net::request_log> open_request_log(const config::settings& settings);
// Has both go on by these settings. Any thread.
void change_logging(const config::settings& settings, net::request_log& requests);

// By the words of the option log_level. Any thread.
std::string log_level();
void set_log_level(const std::string& level);

}  // namespace troupe::cli
