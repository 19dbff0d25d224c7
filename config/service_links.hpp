// What Kubernetes sets in each container for services whose names begin with "troupe": it looks like
// variables of this program's own. Docker's --link sets the same, and more that is not looked for here.
#pragma once
#include <string>
#include <string_view>

namespace troupe::config {

// Whether the text is what such a variable has for a value: "tcp://10.96.12.3:8000".
bool is_address_of_service(std::string_view text);

// Whether the variable is one of those, by its name: TROUPE_SERVICE_HOST, TROUPE_CANARY_PORT_8000_TCP_ADDR.
// TROUPE_PORT and TROUPE_CANARY_PORT are told by their values alone.
bool is_named_for_service(std::string_view variable);

// Of TROUPE_ADMIN_PORT the service whose address it would have: "troupe-admin".
std::string service_of_port(std::string_view variable);

}  // namespace troupe::config
