// An HTTP server before a scripted engine, and what its clients ask.
#pragma once
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "actors/net/http/http_server.hpp"
#include "tests/actors/net/raw_client_fixture.hpp"
#include "tests/actors/net/scripted_engine_fixture.hpp"

namespace troupe::net::testing {

using nlohmann::json;
using pace = scripted_engine::pace;

inline const std::string chat = R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":3})";
inline const std::string streamed_chat =
    R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":3,"stream":true})";

inline http_options options_of_test() {
  http_options options;
  options.version = "1.2.3";
  options.limits.max_body_bytes = 1U << 20U;
  return options;
}

struct http_server_test : ::testing::Test {
  scripted_engine engine;
  http_server server = *http_server::start(options_of_test(), engine);
  raw_client client{server.port()};
};

struct http_server_by_hand : ::testing::Test {
  scripted_engine engine{pace::by_hand};
  http_server server = *http_server::start(options_of_test(), engine);
  raw_client client{server.port()};
};

inline std::string streamed_text(const std::string& body) {
  std::string text;
  for (const std::string& data : sse_data(body)) {
    if (data == "[DONE]" || data.starts_with(':')) continue;
    const json chunk = json::parse(data);
    if (chunk.contains("choices") && !chunk["choices"].empty())
      text += chunk["choices"][0]["delta"]["content"];
  }
  return text;
}

}  // namespace troupe::net::testing
