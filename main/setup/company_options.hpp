// Settings as the actors and the gateways take them.
#pragma once
#include <chrono>
#include <string>

#include "actors/company.hpp"
#include "actors/net/options.hpp"
#include "config/settings.hpp"

namespace troupe {

// Errors: invalid_argument, for what only the engine understands of a setting.
result<company_options> to_company_options(const config::settings& settings, const std::string& model_path);
// How long the service may be not live before its process ends. A runner with a process of its own is killed,
// and started anew, when its deadline is over twice.
std::chrono::nanoseconds patience_of(const config::settings& settings);
company_limits to_company_limits(const config::settings& settings);
// The settings are known to be good (checked_values.hpp).
net::http_options to_http_options(const config::settings& settings);
net::tcp_options to_tcp_options(const config::settings& settings);
net::admin_options to_admin_options(const config::settings& settings);

}  // namespace troupe
