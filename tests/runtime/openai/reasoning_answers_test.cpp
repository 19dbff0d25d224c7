// Answers whose models think first, whole and streamed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/openai/chunk_stream.hpp"
#include "runtime/openai/whole_answer.hpp"
#include "tests/runtime/openai/sent_events.hpp"

namespace troupe::openai {
namespace {

const token_namer any_name = [](token_id) { return std::string("t"); };
const answer_identity an_answer{"id-1", "m", 77, 0xABC};

std::vector<stream_event> thoughtful_events(const std::vector<std::string>& reasoning,
                                            const std::string& text) {
  std::vector<stream_event> events;
  for (const std::string& piece : reasoning) {
    events.emplace_back().reasoning = piece;
    events.back().tokens = {1};
  }
  events.back().text = text;
  finished end{finish_reason::stop};
  end.tokens = {.prompt_tokens = 3, .completion_tokens = 9, .reasoning_tokens = 7};
  events.emplace_back().end = end;
  return events;
}

nlohmann::json whole_body(const std::vector<stream_event>& events, const answer_options& options) {
  whole_answer answer(an_answer, options, false, any_name);
  for (const stream_event& event : events) answer.add(0, event);
  return nlohmann::json::parse(answer.body());
}

std::vector<nlohmann::json> chunks_of(const std::vector<stream_event>& events,
                                      const answer_options& options) {
  chunk_stream stream(an_answer, options, false, any_name);
  std::string sent;
  for (const stream_event& event : events) stream.append(0, event, sent);
  auto all = test::sent_events(sent);
  all.pop_back();  // [DONE]
  return all;
}

TEST(reasoning_answers, a_whole_answer_tells_it_beside_the_content) {
  const auto body = whole_body(thoughtful_events({"Is ", "it?"}, "Yes."), {});
  EXPECT_EQ(body["choices"][0]["message"],
            nlohmann::json::parse(
                R"({"role":"assistant","content":"Yes.","reasoning_content":"Is it?","refusal":null})"));
  EXPECT_EQ(body["usage"]["completion_tokens_details"], nlohmann::json::parse(R"({"reasoning_tokens":7})"));
  EXPECT_EQ(whole_body(thoughtful_events({"Is it?"}, ""), {})["choices"][0]["message"]["content"], "");
}

TEST(reasoning_answers, is_left_out_where_it_is_not_wanted_and_its_tokens_are_counted) {
  const answer_options options{.stream = true, .include_usage = true, .include_reasoning = false};
  const auto body = whole_body(thoughtful_events({"Is it?"}, "Yes."), options);
  EXPECT_FALSE(body["choices"][0]["message"].contains("reasoning_content"));
  EXPECT_EQ(body["usage"]["completion_tokens_details"]["reasoning_tokens"], 7);
  std::string content;
  for (const auto& chunk : chunks_of(thoughtful_events({"Is ", "it?"}, "Yes."), options)) {
    if (chunk["choices"].empty()) continue;
    EXPECT_FALSE(chunk["choices"][0]["delta"].contains("reasoning_content"));
    content += chunk["choices"][0]["delta"].value("content", "");
  }
  EXPECT_EQ(content, "Yes.");
}

TEST(reasoning_answers, a_chunk_brings_reasoning_or_content) {
  for (const bool tools : {false, true}) {
    std::string told;
    for (const auto& chunk :
         chunks_of(thoughtful_events({"Is ", "it?"}, "Yes."), {.stream = true, .tool_calls = tools})) {
      const auto& delta = chunk["choices"][0]["delta"];
      EXPECT_FALSE(delta.contains("reasoning_content") && delta.contains("content"));
      if (delta.contains("reasoning_content"))
        told += "[" + delta["reasoning_content"].get<std::string>() + "]";
      told += delta.value("content", "");
    }
    EXPECT_EQ(told, "[Is ][it?]Yes.");
  }
}

TEST(reasoning_answers, calls_are_told_from_what_follows_it) {
  const std::string call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool_call>";
  const auto message =
      whole_body(thoughtful_events({"I call " + call}, call), {.tool_calls = true})["choices"][0]["message"];
  EXPECT_EQ(message["reasoning_content"], "I call " + call);
  EXPECT_TRUE(message["content"].is_null());
  EXPECT_EQ(message["tool_calls"].size(), 1U);
}

}  // namespace
}  // namespace troupe::openai
