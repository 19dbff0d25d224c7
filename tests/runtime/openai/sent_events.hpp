// Server-sent events as a client reads them.
#pragma once
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace troupe::openai::test {

// The data of each; "[DONE]" as a string.
inline std::vector<nlohmann::json> sent_events(const std::string& out) {
  std::vector<nlohmann::json> events;
  for (std::size_t at = 0; at < out.size();) {
    const auto end = out.find("\n\n", at);
    EXPECT_EQ(out.substr(at, 6), "data: ");
    const std::string data = out.substr(at + 6, end - at - 6);
    events.push_back(data == "[DONE]" ? nlohmann::json("[DONE]") : nlohmann::json::parse(data));
    at = end + 2;
  }
  return events;
}

}  // namespace troupe::openai::test
