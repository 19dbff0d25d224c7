#include "actors/net/host_field.hpp"

#include <fmt/format.h>

namespace troupe::net {

std::string host_field(std::string_view host, std::string_view port) {
  const bool is_version_6 = host.find(':') != std::string_view::npos;
  const std::string named = is_version_6 ? fmt::format("[{}]", host) : std::string(host);
  return port == "80" ? named : fmt::format("{}:{}", named, port);
}

}  // namespace troupe::net
