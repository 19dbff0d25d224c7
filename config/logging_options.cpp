// The log.
#include "config/option_table.hpp"

namespace troupe::config {

using group = option_group;

std::vector<option> logging_options() {
  return {
      reloadable(text_option("log_level", group::logging, &settings::log_level,
                             "Least serious message to log",
                             {"trace", "debug", "info", "warn", "error", "off"})),
      reloadable(text_option("log_format", group::logging, &settings::log_format,
                             "Form of the log; auto: text on a terminal, else JSON lines",
                             {"auto", "text", "json"})),
      reloadable(text_option("log_requests", group::logging, &settings::log_requests,
                             "Which requests have a line at their end; failed: those refused, or ended by an "
                             "error or a timeout",
                             {"all", "failed", "none"})),
  };
}

}  // namespace troupe::config
