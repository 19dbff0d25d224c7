// Responses, whole and streamed: a client that follows the events has what the whole answer says.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/openai/responses/response_stream.hpp"
#include "runtime/openai/responses/whole_response.hpp"

namespace troupe::openai {
namespace {

using document = nlohmann::json;

const token_namer token_name = [](token_id id) { return std::string(1, static_cast<char>('a' + id % 26)); };
const answer_identity responded{"resp_1", "m", 77, 0xABC,
                                std::make_shared<const std::string>(R"("tools":[],"temperature":1)")};

std::string call(const std::string& arguments) {
  return "<tool_call>\n{\"name\": \"add\", \"arguments\": " + arguments + "}\n</tool_call>";
}

answer_options options_of(bool calls, bool summary = false) {
  return {.kind = answer_kind::response, .stream = true, .tool_calls = calls, .reasoning_summary = summary};
}

std::vector<stream_event> in_pieces(const std::string& reasoning, const std::string& text, finished end,
                                    std::mt19937& random) {
  std::vector<stream_event> events;
  const auto add = [&](const std::string& whole, std::string stream_event::*member) {
    for (std::size_t at = 0; at < whole.size();) {
      const std::size_t size = 1 + random() % 9;
      stream_event& event = events.emplace_back();
      event.*member = whole.substr(at, size);
      const auto id = static_cast<token_id>(random() % 1000);
      event.tokens = {id};
      event.logprobs = {{id, -1.5F, 1, {{id, -1.5F}}}};
      at += size;
    }
  };
  add(reasoning, &stream_event::reasoning);
  add(text, &stream_event::text);
  if (events.empty() || random() % 2 == 0) events.emplace_back();
  events.back().end = std::move(end);
  return events;
}

finished end_of(finish_reason reason) { return {reason, {}, {}, {}, {3, 20, 1, 4}}; }

document whole_of(const std::vector<stream_event>& events, bool calls, bool summary = false) {
  whole_response answer(responded, options_of(calls, summary), token_name);
  for (const stream_event& event : events) answer.add(0, event);
  return document::parse(answer.body());
}

// The events as a client reads them: each by the name that it has in its data, too.
std::vector<document> streamed(const std::vector<stream_event>& events, bool calls, bool summary = false) {
  response_stream stream(responded, options_of(calls, summary), token_name);
  std::string sent;
  for (const stream_event& event : events) stream.append(0, event, sent);
  EXPECT_EQ(stream.ended(), !events.empty() && events.back().end.has_value());
  std::vector<document> read;
  for (std::size_t at = 0; at < sent.size();) {
    const std::size_t line = sent.find("\ndata: ", at);
    const std::size_t end = sent.find("\n\n", at);
    read.push_back(document::parse(sent.substr(line + 7, end - line - 7)));
    EXPECT_EQ(sent.substr(at, line - at), "event: " + read.back()["type"].get<std::string>());
    EXPECT_EQ(read.back()["sequence_number"], read.size() - 1);
    at = end + 2;
  }
  return read;
}

// A client that believes deltas alone, and checks by them what the events at an item's end say.
class follower {
 public:
  explicit follower(const std::vector<document>& events) {
    for (const document& event : events) take(event);
  }
  document response;  // of the last event
  std::vector<document> items;

 private:
  void take(const document& event) {
    const std::string type = event["type"];
    if (event.contains("response")) {
      response = event["response"];
      return;
    }
    const std::size_t index = event["output_index"];
    if (type == "response.output_item.added") {
      ASSERT_EQ(index, items.size());
      ASSERT_TRUE(items.empty() || is_closed_) << "two are open at once";
      items.push_back(event["item"]);
      EXPECT_EQ(items.back()["status"], "in_progress");
      is_closed_ = false;
      return;
    }
    ASSERT_EQ(index + 1, items.size());
    ASSERT_FALSE(is_closed_);
    document& item = items.back();
    if (type == "response.output_item.done") {
      is_closed_ = true;
      item["status"] = event["item"]["status"];
      EXPECT_EQ(item, event["item"]);
      return;
    }
    EXPECT_EQ(event["item_id"], item["id"]);
    if (type == "response.content_part.added") {
      item["content"].push_back(event["part"]);
    } else if (type == "response.reasoning_summary_part.added") {
      item["summary"].push_back(event["part"]);
    } else if (type == "response.reasoning_summary_part.done") {
      EXPECT_EQ(event["part"], item["summary"].at(event["summary_index"].get<std::size_t>()));
    } else if (type == "response.content_part.done") {
      EXPECT_EQ(event["part"], item["content"].at(event["content_index"].get<std::size_t>()));
    } else if (type.ends_with(".delta")) {
      add(event, item);
    } else {
      EXPECT_EQ(event.contains("text") ? event["text"] : event["arguments"], text_in(item));
    }
  }

  static document& text_in(document& item) {
    if (item["type"] == "function_call") return item["arguments"];
    return (item.contains("content") ? item["content"] : item["summary"])[0]["text"];
  }
  static void add(const document& event, document& item) {
    EXPECT_NE(event["delta"], "");
    text_in(item) = text_in(item).get<std::string>() + event["delta"].get<std::string>();
    if (event.contains("logprobs"))
      for (const document& each : event["logprobs"]) item["content"][0]["logprobs"].push_back(each);
  }

  bool is_closed_ = false;
};

TEST(response_answers, who_follows_the_events_has_what_the_whole_answer_says) {
  const std::vector<std::string> texts = {"",
                                          "Hello, you.",
                                          "a < b\n",
                                          "I add.\n" + call("{\"a\": 1}"),
                                          call("{}") + "\n" + call("{\"a\": [1, {\"b\": \"}\"}]}"),
                                          call("{}").substr(0, 40),
                                          call("{}") + "\nThat was it."};
  std::mt19937 random(7);
  std::set<std::string> seen;
  for (int round = 0; round < 400; ++round) {
    const std::string& text = texts[random() % texts.size()];
    const std::string reasoning = random() % 2 == 0 ? "" : "I wonder what it is.";
    const bool calls = random() % 4 != 0;
    const auto reason = random() % 3 == 0 ? finish_reason::length : finish_reason::stop;
    const auto events = in_pieces(reasoning, text, end_of(reason), random);
    const bool summary = random() % 2 == 0;
    const document whole = whole_of(events, calls, summary);
    const follower client(streamed(events, calls, summary));
    if (!reasoning.empty()) {
      EXPECT_EQ(whole["output"][0][summary ? "summary" : "content"][0]["text"], reasoning);
    }
    EXPECT_EQ(client.items, client.response["output"].get<std::vector<document>>());
    EXPECT_EQ(client.response, whole) << "round " << round;
    const bool is_cut = reason != finish_reason::stop || (calls && text == call("{}").substr(0, 40));
    EXPECT_EQ(whole["status"], is_cut ? "incomplete" : "completed");
    for (const document& item : whole["output"]) seen.insert(item["type"].get<std::string>());
  }
  EXPECT_EQ(seen, (std::set<std::string>{"function_call", "message", "reasoning"}));
}

TEST(response_answers, a_whole_answer_has_the_members_of_openai_s) {
  std::mt19937 random(1);
  const auto events = in_pieces("hm", "I add.\n" + call("{\"a\": 1}"), end_of(finish_reason::stop), random);
  document body = whole_of(events, true);
  EXPECT_FALSE(body["output"][1]["content"][0]["logprobs"].empty());
  for (document& item : body["output"])
    if (item.contains("content")) item["content"][0].erase("logprobs");
  EXPECT_EQ(body, document::parse(R"({"id":"resp_1","object":"response","created_at":77,"status":"completed",
    "model":"m","background":false,"error":null,"incomplete_details":null,"stop_reason":null,"tools":[],
    "temperature":1,"previous_response_id":null,"store":false,"truncation":"disabled","output":[
      {"id":"rs_0000000000000abc0000","status":"completed","type":"reasoning","summary":[],
       "content":[{"type":"reasoning_text","text":"hm"}]},
      {"id":"msg_0000000000000abc0001","status":"completed","type":"message","role":"assistant",
       "content":[{"type":"output_text","text":"I add.","annotations":[]}]},
      {"id":"fc_0000000000000abc0002","status":"completed","type":"function_call",
       "call_id":"call_0000000000000abc000000","name":"add","arguments":"{\"a\": 1}"}],
    "usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":1,"cache_write_tokens":0},
      "output_tokens":20,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":23}})"));
}

TEST(response_answers, what_was_cut_off_says_so) {
  std::mt19937 random(2);
  const document cut =
      whole_of(in_pieces("", call("{}").substr(0, 50), end_of(finish_reason::length), random), true);
  EXPECT_EQ(cut["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(cut["output"][0]["status"], "incomplete");
  const document late = whole_of(in_pieces("", "a", end_of(finish_reason::timeout), random), false);
  EXPECT_EQ(late["status"], "incomplete");
  EXPECT_EQ(late["stop_reason"], "timeout");
  const document thinking = whole_of(in_pieces("hm", "", end_of(finish_reason::length), random), false);
  EXPECT_EQ(thinking["output"].size(), 1U);
  EXPECT_EQ(thinking["output"][0]["status"], "incomplete");
}

TEST(response_answers, a_stream_that_failed_says_why_and_ends) {
  finished lost = end_of(finish_reason::error);
  lost.failure = error{error_code::internal, "it is gone"};
  finished cut_off = end_of(finish_reason::abort);
  for (const finished& end : {lost, cut_off}) {
    std::mt19937 random(3);
    auto events = in_pieces("", "some text", end, random);
    events.emplace_back().text = "nothing more";
    response_stream stream(responded, options_of(false), token_name);
    std::string sent;
    for (const stream_event& event : events) stream.append(0, event, sent);
    EXPECT_TRUE(stream.ended());
    events.pop_back();
    const document last = streamed(events, false).back();
    EXPECT_EQ(last["type"], "response.failed");
    EXPECT_EQ(last["response"]["status"], "failed");
    EXPECT_EQ(last["response"]["error"]["code"], "server_error");
    EXPECT_NE(last["response"]["error"]["message"], "");
    EXPECT_EQ(last["response"]["error"].contains("retry_after"), end.reason == finish_reason::abort);
    EXPECT_EQ(sent.find("nothing more"), std::string::npos);
  }
}

TEST(response_answers, log_probabilities_are_those_of_the_text) {
  std::vector<stream_event> events(4);
  const auto token = [](token_id id) { return std::vector<token_logprobs>{{id, -0.5F, 1, {}}}; };
  events[0].reasoning = "hm";
  events[0].logprobs = token(0);
  events[1].logprobs = token(1);  // its text comes with the next one's
  events[2].text = "bc";
  events[2].logprobs = token(2);
  events[3].end = end_of(finish_reason::stop);
  const follower client(streamed(events, false));
  const document& told = client.items[1]["content"][0]["logprobs"];
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0]["token"], "b");
  EXPECT_EQ(told[1]["token"], "c");
}

TEST(response_answers, log_probabilities_of_marks_are_none_of_the_text_behind_them) {
  const std::vector<std::string> names = {"hm",
                                          "\n</th",
                                          "ink>",
                                          "\n",
                                          "It",
                                          " is",
                                          "\n<tool_call>\n{\"name\": \"add\", ",
                                          "\"arguments\": {}",
                                          "}\n</tool_call",
                                          ">\nAnd",
                                          " so.",
                                          "I add."};
  const token_namer by_number = [&names](token_id id) { return names.at(static_cast<std::size_t>(id)); };
  // As output_processor shows them: what belongs to no text comes with an event of its own.
  const auto event = [](std::vector<token_id> ids, const std::string& reasoning, const std::string& text) {
    stream_event made;
    made.reasoning = reasoning;
    made.text = text;
    for (const token_id id : ids) made.logprobs.push_back({id, -0.5F, 1, {}});
    return made;
  };
  const std::vector<stream_event> events = {
      event({0}, "hm", ""),     event({1}, "", ""),        event({2, 3}, "", ""),    event({4}, "", "It"),
      event({5}, "", " is"),    event({6}, "", names[6]),  event({7}, "", names[7]), event({8}, "", names[8]),
      event({9}, "", names[9]), event({10}, "", names[10])};
  for (const bool at_once : {false, true}) {
    response_items items(options_of(true), by_number);
    for (std::size_t i = 0; i < events.size(); ++i) {
      stream_event next = events[i];
      // The step that closes the reasoning may bring the text as well, and that which closes the call.
      if (at_once && i == 2) {
        next.logprobs.push_back(events[3].logprobs.front());
        next.text = events[3].text;
      }
      if (!at_once || i != 3) items.add(next);
    }
    std::vector<std::vector<token_id>> told;
    for (const response_item& item : items.all()) {
      told.emplace_back();
      for (const token_logprobs& each : item.logprobs) told.back().push_back(each.token);
    }
    EXPECT_EQ(told, (std::vector<std::vector<token_id>>{{}, {4, 5}, {}, {9, 10}})) << at_once;
  }
}

TEST(response_answers, log_probabilities_do_not_depend_on_how_many_tokens_a_step_brings) {
  const std::vector<std::string> names = {"So",
                                          " it",
                                          "</think>",
                                          "\n\n",
                                          "It",
                                          " is",
                                          " so.",
                                          "\n<tool_call>\n{\"name\": ",
                                          "\"add\", \"arguments\": {}}",
                                          "\n</tool_call>\nAnd",
                                          " then"};
  const token_namer by_number = [&names](token_id id) { return names.at(static_cast<std::size_t>(id)); };
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    response_items items(options_of(true), by_number);
    stream_event event;
    for (token_id id = 0; id < static_cast<token_id>(names.size()); ++id) {
      event.logprobs.push_back({id, -0.5F, 1, {}});
      if (id < 2) {
        event.reasoning += names[static_cast<std::size_t>(id)];
      } else if (id > 3) {
        event.text += names[static_cast<std::size_t>(id)];
      }
      if (random() % 3 == 0) items.add(std::exchange(event, {}));
    }
    event.end = end_of(finish_reason::stop);
    items.add(event);
    std::vector<token_id> told;
    for (const response_item& item : items.all())
      for (const token_logprobs& each : item.logprobs) told.push_back(each.token);
    EXPECT_EQ(told, (std::vector<token_id>{4, 5, 6, 9, 10})) << round;
    for (const response_item& item : items.all()) EXPECT_TRUE(item.is_complete);
  }
}

TEST(response_answers, a_call_is_complete_though_the_next_one_is_not) {
  std::mt19937 random(6);
  const std::string cut = call("{}") + "\n<tool_call>\n{\"na";
  for (const auto reason : {finish_reason::stop, finish_reason::length}) {
    const document whole = whole_of(in_pieces("", cut, end_of(reason), random), true);
    EXPECT_EQ(whole["output"][0]["status"], "completed");
    EXPECT_EQ(whole["output"].size(), 1U);
    EXPECT_EQ(whole["status"], "incomplete");
  }
}

TEST(response_answers, a_call_that_a_stop_string_cuts_off_leaves_the_response_incomplete) {
  std::mt19937 random(5);
  for (const std::size_t size : {30UL, 45UL}) {
    const auto events =
        in_pieces("", call("{\"a\": 1}").substr(0, size), end_of(finish_reason::stop), random);
    EXPECT_EQ(whole_of(events, true)["status"], "incomplete") << size;
    EXPECT_TRUE(whole_of(events, true)["incomplete_details"]["reason"].is_null()) << "none that clients know";
    EXPECT_EQ(streamed(events, true).back()["type"], "response.incomplete") << size;
  }
}

TEST(response_answers, warnings_are_told_with_every_state) {
  std::vector<stream_event> events(1);
  events[0].text = "a";
  events[0].warnings = {"x is not known"};
  events[0].end = end_of(finish_reason::stop);
  for (const document& event : streamed(events, false))
    if (event.contains("response")) {
      EXPECT_EQ(event["response"]["warnings"][0], "x is not known");
    }
  EXPECT_EQ(whole_of(events, false)["warnings"][0], "x is not known");
}

}  // namespace
}  // namespace troupe::openai
