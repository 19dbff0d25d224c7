// Whom a request over HTTP is for.
#pragma once
#include <string>
#include <string_view>

namespace troupe::net {

// The host as in a URL, and the port unless it is that of HTTP: "127.0.0.1:8000", "[::1]:4318", "collector".
// What the field Host says (RFC 9110, section 7.2).
std::string host_field(std::string_view host, std::string_view port);

}  // namespace troupe::net
