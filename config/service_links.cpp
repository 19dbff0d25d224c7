#include "config/service_links.hpp"

#include <algorithm>
#include <cstddef>

#include "config/values.hpp"

namespace troupe::config {
namespace {

constexpr std::string_view port_end = "_PORT";

// What stands behind "_PORT_": "8000_TCP", "8000_TCP_ADDR".
bool is_of_one_port(std::string_view rest) {
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (digits == 0) return false;
  rest.remove_prefix(digits);
  for (const std::string_view protocol : {"_TCP", "_UDP", "_SCTP"}) {
    if (!rest.starts_with(protocol)) continue;
    const std::string_view what = rest.substr(protocol.size());
    return what.empty() || what == "_PROTO" || what == port_end || what == "_ADDR";
  }
  return false;
}

}  // namespace

bool is_address_of_service(std::string_view text) {
  return text.starts_with("tcp://") || text.starts_with("udp://") || text.starts_with("sctp://");
}

bool is_named_for_service(std::string_view variable) {
  if (variable.ends_with("_SERVICE_HOST") || variable.ends_with("_SERVICE_PORT")) return true;
  if (variable.find("_SERVICE_PORT_") != std::string_view::npos) return true;
  constexpr std::string_view before = "_PORT_";
  for (std::size_t at = variable.find(before); at != std::string_view::npos;
       at = variable.find(before, at + 1))
    if (is_of_one_port(variable.substr(at + before.size()))) return true;
  return false;
}

std::string service_of_port(std::string_view variable) {
  std::string name = lower(variable.substr(0, variable.size() - std::min(variable.size(), port_end.size())));
  std::ranges::replace(name, '_', '-');
  return name;
}

}  // namespace troupe::config
