#include "actors/net/request_log.hpp"

#include <gtest/gtest.h>

#include <regex>

#include "actors/net/http_server.hpp"
#include "actors/net/tcp_server.hpp"
#include "tests/actors/net/captured_log_fixture.hpp"
#include "tests/actors/net/frame_client_fixture.hpp"
#include "tests/actors/net/raw_client_fixture.hpp"
#include "tests/actors/net/scripted_engine_fixture.hpp"

namespace troupe::net::testing {
namespace {

using wire::frame_type;

const std::string times = R"( ttft_ms=\d+\.\d total_ms=\d+\.\d)";

void expect_line(const std::string& line, const std::string& pattern) {
  EXPECT_TRUE(std::regex_match(line, std::regex(pattern))) << line;
}

stream_event first_piece() {
  stream_event event = piece("a");
  event.prompt_tokens = {5, 6, 7};
  return event;
}

stream_event end_of(finish_reason reason, usage tokens) {
  stream_event event;
  event.end = finished{reason, {}, {}, {}, tokens};
  return event;
}

TEST(request_log, writes_one_line_when_a_request_has_ended) {
  const captured_log captured;
  {
    request_log log("chatcmpl-1", "m", 1);
    log.add(0, first_piece());
    log.add(0, end_of(finish_reason::length, {31, 12, 16}));
    EXPECT_TRUE(captured.lines().empty());
  }
  ASSERT_EQ(captured.lines().size(), 1U);
  expect_line(captured.lines()[0],
              "info request chatcmpl-1: model=m prompt_tokens=31 cached_tokens=16 completion_tokens=12 "
              "finish_reason=length" +
                  times);
}

TEST(request_log, adds_up_several_answers_and_names_each_end) {
  const captured_log captured;
  {
    request_log log("chatcmpl-1", "m", 3);
    for (std::size_t index = 0; index < 3; ++index) log.add(index, first_piece());
    log.add(1, end_of(finish_reason::stop, {3, 4, 2}));
    log.add(0, end_of(finish_reason::length, {3, 5, 0}));
  }
  expect_line(captured.lines().at(0),
              "info request chatcmpl-1: model=m prompt_tokens=3 cached_tokens=0 completion_tokens=10 "
              "finish_reason=length,stop,abort" +
                  times);
}

TEST(request_log, has_no_first_token_where_there_was_none) {
  const captured_log captured;
  { const request_log log("chatcmpl-1", "m", 1); }
  expect_line(captured.lines().at(0),
              "info request chatcmpl-1: model=m prompt_tokens=0 cached_tokens=0 completion_tokens=0 "
              R"(finish_reason=abort total_ms=\d+\.\d)");
}

TEST(request_log, a_failure_before_the_first_token_is_a_refusal_and_later_an_end) {
  const captured_log captured;
  const error full{error_code::resource_exhausted, "the prompt 'secret' found the queue full", {}, 7};
  { request_log("chatcmpl-1", "m", 1).add(0, failed(full)); }
  {
    request_log log("chatcmpl-2", "m", 1);
    log.add(0, first_piece());
    log.add(0, failed({error_code::internal, "a fault"}));
  }
  ASSERT_EQ(captured.lines().size(), 2U);
  EXPECT_EQ(captured.lines()[0], "info request chatcmpl-1: refused status=429 code=rate_limit_exceeded");
  EXPECT_NE(captured.lines()[1].find("finish_reason=error"), std::string::npos);
}

TEST(request_log, of_http_has_one_line_for_each_post_and_no_word_of_a_prompt) {
  const captured_log captured;
  {
    scripted_engine engine;
    http_server server = *http_server::start({}, engine);
    raw_client client(server.port());
    client.get("/health");
    client.get("/nothing");
    client.post("/v1/chat/completions",
                R"({"messages":[{"role":"user","content":"secret"}],"max_tokens":3})");
    client.post("/v1/completions", R"({"prompt":"secret","n":2,"stream":true})");
    client.post("/v1/completions", R"({"prompt":"secret","temperature":-1})");
    client.post("/v1/completions", R"({"prompt":"secret","model":"secret"})");
    client.post("/v1/completions", "secret");
    client.post("/%0asecret", "{}");
    raw_client babbler(server.port());
    babbler.send("secret\r\n\r\n");
    babbler.read_to_end();
  }
  const std::vector<std::string> patterns = {
      "info request chatcmpl-[0-9a-f]{32}: model=test-model prompt_tokens=3 cached_tokens=0 "
      "completion_tokens=3 "
      "finish_reason=length" +
          times,
      "info request cmpl-[0-9a-f]{32}: model=test-model prompt_tokens=3 cached_tokens=0 completion_tokens=32 "
      "finish_reason=length,length" +
          times,
      "info request POST /v1/completions: refused status=400 code=invalid_value param=temperature",
      "info request POST /v1/completions: refused status=404 code=model_not_found param=model",
      "info request POST /v1/completions: refused status=400 code=invalid_value",
      "info request POST: refused status=404 code=not_found",
      R"(info request \(unreadable\): refused status=400 code=bad_request)"};
  ASSERT_EQ(captured.lines().size(), patterns.size());
  for (std::size_t i = 0; i < patterns.size(); ++i) expect_line(captured.lines()[i], patterns[i]);
}

TEST(request_log, of_tcp_has_one_line_for_each_number) {
  const captured_log captured;
  {
    scripted_engine engine;
    tcp_server server = *tcp_server::start({}, engine);
    frame_client client(server.port());
    client.greet();
    client.send(frame_type::generate, 9, R"({"prompt":"secret","max_tokens":1})");
    EXPECT_EQ(client.read().type, frame_type::delta);
    EXPECT_EQ(client.read().type, frame_type::finished);
    client.send(frame_type::generate, 10, R"({"prompt":"secret","top_p":7})");
    EXPECT_EQ(client.read().type, frame_type::error);
  }
  ASSERT_EQ(captured.lines().size(), 2U);
  expect_line(captured.lines()[0],
              "info request tcp-1/9: model=test-model prompt_tokens=3 cached_tokens=0 completion_tokens=1 "
              "finish_reason=length" +
                  times);
  EXPECT_EQ(captured.lines()[1], "info request tcp-1/10: refused status=400 code=invalid_value param=top_p");
}

}  // namespace
}  // namespace troupe::net::testing
