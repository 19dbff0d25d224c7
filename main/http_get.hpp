// One GET over plain HTTP, for the commands that ask a running service.
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "main/setup/service_url.hpp"
#include "runtime/result.hpp"

namespace troupe::cli {

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
