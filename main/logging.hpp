// The log: text with the time on a terminal, one JSON object per line otherwise; to the standard error
// stream.
#pragma once
#include <string>

#include "config/settings.hpp"

namespace troupe::cli {

// Makes spdlog's default logger that of the settings. Prompts and answers are never logged.
void start_logging(const config::settings& settings);
// Has it go on by these settings. Any thread.
void change_logging(const config::settings& settings);

// By the words of the option log_level. Any thread.
std::string log_level();
void set_log_level(const std::string& level);

}  // namespace troupe::cli
