// One GET over plain HTTP, for the commands that ask a running service.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace troupe::cli {

struct service_url {
  std::string host;
  std::string port;
  std::string base;  // before each path: "" or "/troupe"
};

// "http://127.0.0.1:8000", "localhost:8000", "http://[::1]/troupe/". Errors: invalid_argument.
result<service_url> parse_url(std::string_view text);

struct http_answer {
  int status = 0;
  std::string body;
};

// `key`: sent as a bearer's, unless it is empty. `is_given_up`: asked all the while, on this thread.
// Errors: unavailable, with the system's words, where there is no answer in time or it is given up.
result<http_answer> http_get(
    const service_url& from, const std::string& path, std::chrono::milliseconds timeout,
    const std::string& key = {}, const std::function<bool()>& is_given_up = [] { return false; });

}  // namespace troupe::cli
