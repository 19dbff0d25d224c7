#include "main/service/admin_service.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "config/options.hpp"
#include "main/log/logging.hpp"

namespace troupe::cli {

admin_service::admin_service(const company& served, const net::keys_in_force& key, ending end,
                             reloader& reload)
    : served_(served), key_(key), end_(std::move(end)), reload_(reload) {}

bool admin_service::is_key(std::string_view text) const { return key_.matches(text); }

void admin_service::reload(std::function<void(const result<net::new_settings_report>&)> reply) {
  spdlog::info("an operator asks for a reload");
  reload_.ask(std::move(reply));
}

void admin_service::describe(std::function<void(result<net::company_report>)> reply) {
  served_.describe(std::move(reply));
}

net::drain_order admin_service::drain(std::optional<std::chrono::milliseconds> grace) {
  spdlog::info("an operator asks for the end of the service");
  return end_(grace);
}

result<std::string> admin_service::set_log_level(const std::string& level) {
  const config::option& known = *config::find_option("log_level");
  if (std::ranges::find(known.choices, level) == known.choices.end())
    return fail(error_code::invalid_argument, fmt::format("level must be one of {}", known.range()), "level");
  std::string before = cli::log_level();
  log_at_any_level(fmt::format("an operator sets the log level: {} -> {}", before, level));
  cli::set_log_level(level);
  return before;
}

}  // namespace troupe::cli
