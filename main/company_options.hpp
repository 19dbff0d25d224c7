// Settings as the actors and the gateways take them.
#pragma once
#include <string>

#include "actors/company.hpp"
#include "actors/net/options.hpp"
#include "config/settings.hpp"

namespace troupe::cli {

// Errors: invalid_argument, for what only the engine understands of a setting.
result<company_options> to_company_options(const config::settings& settings, const std::string& model_path);
net::http_options to_http_options(const config::settings& settings);
net::tcp_options to_tcp_options(const config::settings& settings);
net::listen_options to_admin_options(const config::settings& settings);

}  // namespace troupe::cli
