#include "runtime/openai/prompt_echo.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "runtime/openai/chunk_stream.hpp"
#include "runtime/openai/whole_answer.hpp"
#include "tests/runtime/openai/sent_events.hpp"

namespace troupe::openai {
namespace {

const token_namer letters = [](token_id id) {
  return id == 9 ? std::string("\xE2\x82") : std::string(1, static_cast<char>('a' + id));
};
const answer_identity echoed{"id-1", "m", 77};

parsed_request parsed(const std::string& members) {
  json body = {{"prompt", "ab"}, {"echo", true}};
  body.update(json::parse(members));
  return *parse_completion(body, {"m", 100, 20, 1});
}

stream_event first_token() {
  stream_event event;
  event.text = "x";
  event.tokens = {23};
  event.logprobs = {{23, -0.5F, 1, {{23, -0.5F}}}};
  event.prompt_tokens = {0, 1, 2};
  event.prompt_logprobs = {{1, -2.0F, 5, {{7, -0.25F}}}, {2, -3.0F, 9, {{8, -0.125F}}}};
  return event;
}

stream_event second_token() {
  stream_event event;
  event.text = "y";
  event.tokens = {24};
  event.logprobs = {{24, -1.5F, 2, {{23, -0.25F}}}};
  event.end = finished{.reason = finish_reason::stop, .stop_string = "z", .tokens = {3, 2}};
  return event;
}

json answer_to(const std::string& members) {
  const parsed_request request = parsed(members);
  const prompt_echo echo(request, letters);
  const bool with_logprobs = request.generation.sampling.logprobs.has_value();
  whole_answer answer(echoed, request.answer, with_logprobs, letters);
  for (stream_event event : {first_token(), second_token()}) {
    echo.add_to(0, event);
    answer.add(0, std::move(event));
  }
  return json::parse(answer.body());
}

TEST(prompt_echo, puts_the_prompt_before_the_answer) {
  EXPECT_EQ(answer_to("{}")["choices"][0]["text"], "abxy") << "as it was sent, whatever its tokens spell";
  EXPECT_EQ(answer_to(R"({"echo":false})")["choices"][0]["text"], "xy");
  EXPECT_TRUE(answer_to("{}")["choices"][0]["logprobs"].is_null());
}

TEST(prompt_echo, writes_a_prompt_of_tokens_as_their_text) {
  EXPECT_EQ(answer_to(R"({"prompt":[0,1,2]})")["choices"][0]["text"], "abcxy");
  stream_event event = first_token();
  event.prompt_tokens = {0, 9};
  const parsed_request request = parsed(R"({"prompt":[0,9]})");
  prompt_echo(request, letters).add_to(0, event);
  EXPECT_EQ(event.text, "a\xEF\xBF\xBDx") << "a part of a character";
}

TEST(prompt_echo, gives_the_log_probabilities_of_the_prompts_tokens_but_the_first) {
  const json logprobs = answer_to(R"({"logprobs":1})")["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"], json::parse(R"(["a","b","c","x","y"])"));
  EXPECT_EQ(logprobs["token_logprobs"], json::parse("[null,-2.0,-3.0,-0.5,-1.5]"));
  EXPECT_EQ(logprobs["text_offset"], json::parse("[0,1,2,3,4]"));
  EXPECT_EQ(
      logprobs["top_logprobs"],
      json::parse(R"([null,{"b":-2.0,"h":-0.25},{"c":-3.0,"i":-0.125},{"x":-0.5},{"y":-1.5,"x":-0.25}])"));
}

TEST(prompt_echo, can_be_all_of_an_answer) {
  const json body = answer_to(R"({"logprobs":1,"max_tokens":0})");
  const json& choice = body["choices"][0];
  EXPECT_EQ(choice["text"], "ab");
  EXPECT_EQ(choice["logprobs"]["token_logprobs"], json::parse("[null,-2.0,-3.0]"));
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_TRUE(choice["stop_reason"].is_null());
  EXPECT_EQ(body["usage"]["completion_tokens"], 0);
  EXPECT_EQ(body["usage"]["prompt_tokens"], 3);
}

TEST(prompt_echo, gives_each_prompt_to_its_own_answers) {
  const parsed_request request = parsed(R"({"prompt":["first",[1,2],"third"],"n":2})");
  const prompt_echo echo(request, letters);
  std::string texts;
  for (std::size_t index = 0; index < 6; ++index) {
    stream_event event = first_token();
    echo.add_to(index, event);
    texts += event.text + ";";
  }
  EXPECT_EQ(texts, "firstx;firstx;abcx;abcx;thirdx;thirdx;");
}

TEST(prompt_echo, comes_with_the_first_chunk_of_a_stream_alone) {
  const parsed_request request = parsed(R"({"logprobs":0,"stream":true})");
  const prompt_echo echo(request, letters);
  chunk_stream stream(echoed, request.answer, true, letters);
  std::string sent;
  for (stream_event event : {first_token(), second_token()}) {
    echo.add_to(0, event);
    stream.append(0, event, sent);
  }
  const auto events = test::sent_events(sent);
  ASSERT_EQ(events.size(), 3U);
  const auto& first = events[0]["choices"][0];
  EXPECT_EQ(first["text"], "abx");
  EXPECT_EQ(first["logprobs"]["tokens"].size(), 4U);
  const auto& second = events[1]["choices"][0];
  EXPECT_EQ(second["text"], "y");
  EXPECT_EQ(second["logprobs"]["text_offset"], nlohmann::json::parse("[4]"));
}

TEST(prompt_echo, fails_where_a_request_ends_before_its_prompts_log_probabilities) {
  for (const char* members :
       {R"({"max_tokens":0,"logprobs":1})", R"({"logprobs":1})", R"({"max_tokens":0})"}) {
    const parsed_request request = parsed(members);
    const bool with_logprobs = request.generation.sampling.logprobs.has_value();
    for (const finish_reason reason : {finish_reason::timeout, finish_reason::abort}) {
      stream_event event;
      event.prompt_tokens = {0, 1, 2};
      event.end = finished{.reason = reason};
      prompt_echo(request, letters).add_to(0, event);
      EXPECT_EQ(event.end->failure.has_value(), with_logprobs) << "none would be taken for certain ones";
      EXPECT_EQ(event.end->reason, with_logprobs ? finish_reason::error : reason);
      EXPECT_TRUE(event.logprobs.empty());
    }
  }
}

TEST(prompt_echo, of_a_prompt_that_was_shortened_is_what_was_computed) {
  const auto text_of = [](const std::string& sent, bool is_cut) {
    const parsed_request request = parsed(R"({"prompt":")" + sent + R"("})");
    stream_event event = first_token();  // of the tokens "a", "b" and "c"
    event.is_prompt_cut = is_cut;
    prompt_echo(request, letters).add_to(0, event);
    return event.text;
  };
  EXPECT_EQ(text_of("xxxabc", true), "abcx");
  EXPECT_EQ(text_of("xxxbc", true), "bcx") << "the first one begins the text, and was not sent";
  EXPECT_EQ(text_of("xxxbc", false), "xxxbcx");
  EXPECT_EQ(text_of("xyz", true), "xyzx") << "another warning";
}

TEST(prompt_echo, stands_beside_the_prompts_log_probabilities_where_both_are_asked_for) {
  for (const char* members :
       {R"({"logprobs":1,"prompt_logprobs":1})", R"({"logprobs":1,"prompt_logprobs":1,"max_tokens":0})"}) {
    const json choice = answer_to(members)["choices"][0];
    ASSERT_EQ(choice["prompt_logprobs"].size(), 3U);
    EXPECT_EQ(choice["prompt_logprobs"][1].size(), 2U) << "the token and the best one";
    EXPECT_EQ(choice["logprobs"]["top_logprobs"][1].size(), 2U);
  }
}

TEST(prompt_echo, leaves_failures_alone) {
  const parsed_request request = parsed(R"({"max_tokens":0,"logprobs":1})");
  stream_event event;
  event.prompt_tokens = {0, 1};
  event.end = finished{.reason = finish_reason::error, .failure = error{error_code::unavailable, "gone"}};
  prompt_echo(request, letters).add_to(0, event);
  EXPECT_TRUE(event.text.empty());
  EXPECT_TRUE(event.logprobs.empty());
  EXPECT_EQ(event.end->reason, finish_reason::error);
}

}  // namespace
}  // namespace troupe::openai
