// The clients' keys of the settings, for the options of a gateway.
#pragma once
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "actors/net/keys_in_force.hpp"
#include "config/load.hpp"

namespace troupe {

struct client_keys {
  std::shared_ptr<net::keys_in_force> keys;  // of http_options and tcp_options; without any, nobody needs one
  std::string warning;                       // that others can read the file; else empty
};

// Of `api_key_file` or the variable TROUPE_API_KEY among the sources. Errors: those of
// config::read_api_keys().
tl::expected<client_keys, std::string> read_client_keys(const config::loaded_settings& loaded);

}  // namespace troupe
