// Answers in which a model calls tools, whole and streamed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "runtime/openai/chunk_stream.hpp"
#include "runtime/openai/whole_answer.hpp"
#include "tests/runtime/openai/sent_events.hpp"

namespace troupe::openai {
namespace {

const token_namer name_of = [](token_id) { return std::string("t"); };
const answer_identity answered{"id-1", "m", 77, 0xABC};

const std::string a_call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>";

// Of a choice: its text in pieces of `size` bytes, and its end.
std::vector<stream_event> events_of(const std::string& text, std::size_t size, finish_reason reason) {
  std::vector<stream_event> events;
  for (std::size_t at = 0; at < text.size(); at += size) {
    events.emplace_back().text = text.substr(at, size);
    events.back().tokens = {1};
  }
  events.emplace_back().end = finished{reason, {}, {}, {}, {3, 2, 1}};
  return events;
}

nlohmann::json whole_choices(const std::vector<std::string>& texts, finish_reason reason) {
  const answer_options options{.n = static_cast<std::int32_t>(texts.size()), .tool_calls = true};
  whole_answer answer(answered, options, false, name_of);
  for (std::size_t i = 0; i < texts.size(); ++i)
    for (const stream_event& event : events_of(texts[i], 5, reason)) answer.add(i, event);
  return nlohmann::json::parse(answer.body())["choices"];
}

TEST(tool_answers, tells_calls_of_tools_from_the_text) {
  const auto choices =
      whole_choices({"I add.\n" + a_call + "\n" + a_call, a_call, "No."}, finish_reason::stop);
  EXPECT_EQ(choices[0]["message"]["content"], "I add.");
  EXPECT_EQ(choices[0]["finish_reason"], "tool_calls");
  const auto& calls = choices[0]["message"]["tool_calls"];
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0]["type"], "function");
  EXPECT_EQ(calls[0]["function"], nlohmann::json::parse(R"({"name":"add","arguments":"{\"a\": 1}"})"));
  EXPECT_TRUE(choices[1]["message"]["content"].is_null());
  EXPECT_EQ(choices[2]["message"],
            nlohmann::json::parse(R"({"role":"assistant","content":"No.","refusal":null})"));
  EXPECT_EQ(choices[2]["finish_reason"], "stop");
  std::set<std::string> ids{calls[0]["id"], calls[1]["id"], choices[1]["message"]["tool_calls"][0]["id"]};
  EXPECT_EQ(ids.size(), 3U);
  EXPECT_TRUE(ids.begin()->starts_with("call_"));
}

TEST(tool_answers, an_answer_that_was_cut_off_has_no_reason_of_its_calls) {
  const auto choices = whole_choices({a_call, a_call.substr(0, 60)}, finish_reason::length);
  EXPECT_EQ(choices[0]["finish_reason"], "length");
  EXPECT_EQ(choices[1]["message"]["tool_calls"][0]["function"]["arguments"], "{\"a\": 1}");
}

TEST(tool_answers, a_stream_has_one_call_in_a_chunk_and_says_what_the_whole_says) {
  const std::string text = "I add.\n" + a_call + "\n" + a_call;
  for (const std::size_t size : {1UL, 7UL, 100UL, 1000UL}) {
    chunk_stream stream(answered, {.stream = true, .tool_calls = true}, false, name_of);
    std::string sent;
    for (const stream_event& event : events_of(text, size, finish_reason::stop))
      stream.append(0, event, sent);
    std::string content;
    std::vector<nlohmann::json> calls;
    nlohmann::json last;
    std::vector<nlohmann::json> chunks = test::sent_events(sent);
    EXPECT_EQ(chunks.back(), "[DONE]");
    chunks.pop_back();
    for (const auto& chunk : chunks) {
      last = chunk["choices"][0];
      const auto& delta = last["delta"];
      content += delta.value("content", "");
      const auto parts = delta.value("tool_calls", nlohmann::json::array());
      ASSERT_LE(parts.size(), 1U);
      for (const auto& part : parts) {
        if (part.contains("id")) {
          EXPECT_EQ(part["index"], calls.size());
          calls.push_back({{"id", part["id"]}, {"name", part["function"]["name"]}, {"arguments", ""}});
        }
        ASSERT_LT(part["index"].get<std::size_t>(), calls.size());
        auto& arguments = calls[part["index"].get<std::size_t>()]["arguments"];
        arguments = arguments.get<std::string>() + part["function"]["arguments"].get<std::string>();
      }
    }
    EXPECT_EQ(content, "I add.") << size;
    EXPECT_EQ(last["finish_reason"], "tool_calls");
    ASSERT_EQ(calls.size(), 2U) << size;
    EXPECT_EQ(calls[0]["arguments"], "{\"a\": 1}");
    EXPECT_EQ(calls[1]["arguments"], "{\"a\": 1}");
    EXPECT_NE(calls[0]["id"], calls[1]["id"]);
  }
}

}  // namespace
}  // namespace troupe::openai
