// The address of a service that is spoken to over plain HTTP.
#pragma once
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace troupe {

struct service_url {
  std::string host;
  std::string port;
  std::string base;  // before each path: "" or "/troupe"
};

// "http://127.0.0.1:8000", "localhost:8000", "http://[::1]/troupe/". Errors: invalid_argument.
result<service_url> parse_url(std::string_view text);

}  // namespace troupe
