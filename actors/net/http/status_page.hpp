// The page at /: what /metrics says, for people. One file without anything from elsewhere.
#pragma once
#include <string_view>

namespace troupe::net {

std::string_view status_page();

}  // namespace troupe::net
