// The log: text with the time on a terminal, one JSON object per line otherwise; to the standard error
// stream.
#pragma once
#include "config/settings.hpp"

namespace troupe::cli {

// Makes spdlog's default logger that of the settings. Prompts and answers are never logged.
void start_logging(const config::settings& settings);

}  // namespace troupe::cli
