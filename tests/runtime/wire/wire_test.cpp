#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "runtime/wire/frame.hpp"
#include "runtime/wire/payloads.hpp"

namespace troupe::wire {
namespace {

TEST(frame, headers_read_back_the_same) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    const frame_header header{static_cast<std::uint32_t>(random()), static_cast<std::uint8_t>(random()),
                              random()};
    const frame_header read = decode_header(encode_header(header));
    EXPECT_EQ(read.length, header.length);
    EXPECT_EQ(read.type, header.type);
    EXPECT_EQ(read.request, header.request);
  }
}

TEST(frame, is_laid_out_as_documented) {
  std::string out;
  append_frame(out, frame_type::delta, 0x0102030405060708U, "ab");
  EXPECT_EQ(out, std::string("\x00\x00\x00\x02\x82\x01\x02\x03\x04\x05\x06\x07\x08"
                             "ab",
                             15));
}

TEST(frame, a_client_has_four_types_each_with_its_limit) {
  int known = 0;
  for (int type = 0; type < 256; ++type) {
    const auto limit = client_payload_limit(static_cast<std::uint8_t>(type), 1000);
    if (limit) ++known;
  }
  EXPECT_EQ(known, 4);
  EXPECT_EQ(client_payload_limit(0x02, 1000), 1000U);
  EXPECT_EQ(client_payload_limit(0x03, 1000), 0U);
  EXPECT_FALSE(client_payload_limit(0x81, 1000).has_value());
}

TEST(hello, must_name_the_version_that_is_spoken) {
  EXPECT_TRUE(parse_hello(R"({"protocol":1,"client":"x"})")->api_key.empty());
  EXPECT_EQ(parse_hello(R"({"protocol":1,"api_key":"k"})")->api_key, "k");
  EXPECT_EQ(parse_hello(R"({"protocol":1,"api_key":5})").error().param, "api_key");
  EXPECT_EQ(parse_hello(R"({"protocol":2})").error().code, error_code::unsupported);
  for (const char* payload : {"", "{}", "[]", "null", R"({"protocol":"1"})", R"({"protocol":null})", "\xFF",
                              R"({"protocol":1.0})", R"({"protocol":18446744073709551615})"}) {
    EXPECT_EQ(parse_hello(payload).error().code, error_code::invalid_argument) << payload;
  }
}

TEST(payloads, tell_a_protocol_that_is_missing_from_one_that_is_no_number) {
  for (const char* payload : {R"({})", R"({"protocol":null})"})
    EXPECT_EQ(parse_hello(payload).error().message, "hello must name its protocol version");
  for (const char* payload :
       {R"({"protocol":"1"})", R"({"protocol":1.0})", R"({"protocol":18446744073709551615})"}) {
    const auto failure = parse_hello(payload).error();
    EXPECT_EQ(failure.message, "protocol must be the whole number 1") << payload;
    EXPECT_EQ(failure.param, "protocol");
  }
}

TEST(payloads, tell_what_happened_as_json) {
  const openai::token_namer name = [](token_id id) { return "t" + std::to_string(id); };
  stream_event event;
  event.text = "a\"";
  event.tokens = {1};
  event.prompt_tokens = {7};
  event.logprobs = {{1, -0.5F, 1, {}}};
  const auto plain = nlohmann::json::parse(delta_payload(event, {.style = {name}}));
  EXPECT_EQ(plain, nlohmann::json::parse(R"({"text":"a\"","token_ids":[1]})"));
  const auto full = nlohmann::json::parse(delta_payload(event, {true, true, true, {name, true}}));
  EXPECT_EQ(full["logprobs"]["content"][0]["token"], "token_id:1");
  EXPECT_EQ(full["prompt_token_ids"], nlohmann::json::parse("[7]"));
  EXPECT_EQ(full["prompt_logprobs"], nlohmann::json::parse("[null]")) << "of a prompt of one token";

  finished end{finish_reason::length, {}, {}, {}, {2, 3, 1}};
  EXPECT_EQ(nlohmann::json::parse(finished_payload(end)),
            nlohmann::json::parse(R"({"finish_reason":"length","stop_reason":null,
                "usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5,
                         "prompt_tokens_details":{"cached_tokens":1}}})"));
  end.failure = error{error_code::unavailable, "gone"};
  EXPECT_EQ(nlohmann::json::parse(finished_payload(end))["error"]["code"], "unavailable");
  const auto welcome = nlohmann::json::parse(welcome_payload({"0.1", "m", 10, 20, 30}));
  EXPECT_EQ(welcome["protocol"], protocol_version);
  EXPECT_EQ(welcome["max_streams"], 30);
}

}  // namespace
}  // namespace troupe::wire
