#include "main/setup/client_keys.hpp"

#include <utility>

#include "actors/net/key_digest.hpp"
#include "config/api_keys.hpp"

namespace troupe {

tl::expected<client_keys, std::string> read_client_keys(const config::loaded_settings& loaded) {
  auto keys = config::read_api_keys(loaded);
  if (!keys) return tl::unexpected(std::move(keys.error()));
  return client_keys{std::make_shared<net::keys_in_force>(net::key_digest(keys->texts)),
                     std::move(keys->warning)};
}

}  // namespace troupe
