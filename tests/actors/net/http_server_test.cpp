#include "actors/net/http_server.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/actors/net/raw_client_fixture.hpp"
#include "tests/actors/net/scripted_engine_fixture.hpp"

namespace troupe::net::testing {
namespace {

using nlohmann::json;

http_options small_options() {
  http_options options;
  options.version = "1.2.3";
  return options;
}

struct http_server_test : ::testing::Test {
  scripted_engine engine;
  http_server server = *http_server::start(small_options(), engine);
  raw_client client{server.port()};
};

TEST_F(http_server_test, answers_a_whole_chat_in_openai_s_shape) {
  const auto answer =
      client.post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":3})");
  EXPECT_EQ(answer.status, 200);
  const json body = json::parse(answer.body);
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["model"], "test-model");
  EXPECT_EQ(body["choices"][0]["message"]["content"], "word word word ");
  EXPECT_EQ(body["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["usage"]["total_tokens"], 6);
}

TEST_F(http_server_test, streams_a_chat_as_server_sent_events) {
  const auto answer = client.post(
      "/v1/chat/completions",
      R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":3,"stream":true,"stream_options":{"include_usage":true}})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.headers.at("content-type").starts_with("text/event-stream"));
  const auto events = sse_data(answer.body);
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(json::parse(events[0])["choices"][0]["delta"]["role"], "assistant");
  std::string text;
  for (std::size_t i = 0; i < 4; ++i) text += json::parse(events[i])["choices"][0]["delta"]["content"];
  EXPECT_EQ(text, "word word word ");
  EXPECT_EQ(json::parse(events[3])["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(json::parse(events[4])["usage"]["completion_tokens"], 3);
  EXPECT_TRUE(json::parse(events[4])["choices"].empty());
  EXPECT_EQ(events[5], "[DONE]");
}

}  // namespace
}  // namespace troupe::net::testing
