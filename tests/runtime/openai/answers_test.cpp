#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/generation_request.hpp"
#include "runtime/openai/chunk_stream.hpp"
#include "runtime/openai/error_body.hpp"
#include "runtime/openai/models.hpp"
#include "runtime/openai/request_status.hpp"
#include "runtime/openai/tokenize.hpp"
#include "runtime/openai/whole_answer.hpp"
#include "tests/runtime/openai/sent_events.hpp"

namespace troupe::openai {
namespace {

const token_namer name = [](token_id id) {
  return id == 9 ? std::string("\xE2\x82") : "t" + std::to_string(id);
};
const answer_identity identity{"id-1", "m", 77};

stream_event first_event() {
  stream_event event;
  event.text = "Hel";
  event.tokens = {1};
  event.logprobs = {{1, -0.5F, 1, {{1, -0.5F}, {2, -1.5F}}}};
  event.prompt_tokens = {10, 11, 12};
  return event;
}

stream_event last_event() {
  stream_event event;
  event.text = "lo";
  event.tokens = {9};
  event.logprobs = {{9, -std::numeric_limits<float>::infinity(), 3, {{1, -0.25F}}}};
  event.end = finished{finish_reason::stop, "END", {}, {}, {3, 2, 1}};
  return event;
}

nlohmann::json whole(answer_options options, bool logprobs) {
  whole_answer answer(identity, options, logprobs, name);
  answer.add(0, first_event());
  EXPECT_FALSE(answer.complete());
  answer.add(0, last_event());
  EXPECT_TRUE(answer.complete());
  return nlohmann::json::parse(answer.body());
}

TEST(whole_answer, is_a_chat_completion) {
  const auto body = whole({}, false);
  EXPECT_EQ(body, nlohmann::json::parse(
                      R"({"id":"id-1","object":"chat.completion","created":77,"model":"m","choices":[
      {"index":0,"message":{"role":"assistant","content":"Hello","refusal":null},"logprobs":null,
       "finish_reason":"stop","stop_reason":"END"}],
      "usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"prompt_tokens_details":{"cached_tokens":1}}})"));
}

TEST(whole_answer, is_a_text_completion) {
  const auto body = whole({.kind = answer_kind::completion, .return_token_ids = true}, true);
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["choices"],
            nlohmann::json::parse(R"([{"index":0,"text":"Hello","logprobs":{"text_offset":[0,2],
      "token_logprobs":[-0.5,-9999.0],"tokens":["t1","\ufffd"],
      "top_logprobs":[{"t1":-0.5,"t2":-1.5},{"\ufffd":-9999.0,"t1":-0.25}]},
      "finish_reason":"stop","stop_reason":"END","token_ids":[1,9],"prompt_token_ids":[10,11,12]}])"));
}

TEST(whole_answer, a_name_stands_once_among_the_most_probable) {
  stream_event event = last_event();
  // 9 and 8 are parts of characters, which one text stands for.
  event.logprobs = {{9, -2.0F, 3, {{8, -0.5F}, {1, -1.0F}, {7, -1.5F}}}};
  const token_namer parts = [](token_id id) { return id > 7 ? "\xE2\x82" : "t" + std::to_string(id); };
  whole_answer answer(identity, {.kind = answer_kind::completion}, true, parts);
  answer.add(0, event);
  const std::string body = answer.body();
  EXPECT_NE(body.find("\"top_logprobs\":[{\"\xEF\xBF\xBD\":-0.5,\"t1\":-1,\"t7\":-1.5}]"), std::string::npos)
      << body;
}

TEST(whole_answer, gives_chat_log_probabilities_with_the_raw_bytes) {
  const auto content = whole({}, true)["choices"][0]["logprobs"]["content"];
  EXPECT_EQ(content[0],
            nlohmann::json::parse(R"({"token":"t1","logprob":-0.5,"bytes":[116,49],"top_logprobs":[
      {"token":"t1","logprob":-0.5,"bytes":[116,49]},{"token":"t2","logprob":-1.5,"bytes":[116,50]}]})"));
  EXPECT_EQ(content[1]["bytes"], nlohmann::json::parse("[226,130]"));
  EXPECT_EQ(content[1]["logprob"], -9999.0);
}

TEST(whole_answer, tokens_can_be_written_as_ids) {
  const auto body = whole({.return_tokens_as_token_ids = true}, true);
  EXPECT_EQ(body["choices"][0]["logprobs"]["content"][1]["token"], "token_id:9");
}

TEST(whole_answer, prompt_log_probabilities_begin_with_null) {
  whole_answer answer(identity, {.prompt_logprobs = true}, false, name);
  stream_event event = last_event();
  event.prompt_logprobs = {{11, -2.0F, 5, {{4, -0.125F}, {11, -2.0F}}}, {12, -0.5F, 1, {{12, -0.5F}}}};
  answer.add(0, event);
  const auto body = nlohmann::json::parse(answer.body());
  EXPECT_EQ(body["prompt_logprobs"], nlohmann::json::parse(R"([null,
      {"11":{"logprob":-2.0,"rank":5,"decoded_token":"t11"},"4":{"logprob":-0.125,"rank":1,"decoded_token":"t4"}},
      {"12":{"logprob":-0.5,"rank":1,"decoded_token":"t12"}}])"));
}

TEST(whole_answer, prompt_log_probabilities_of_one_token_are_null_alone) {
  whole_answer answer(identity, {.prompt_logprobs = true}, false, name);
  answer.add(0, last_event());
  const auto body = nlohmann::json::parse(answer.body());
  EXPECT_EQ(body["prompt_logprobs"], nlohmann::json::parse("[null]"));
}

stream_event saying(std::string text) {
  stream_event event;
  event.text = std::move(text);
  event.tokens = {1};
  event.prompt_tokens = {10, 11, 12};
  return event;
}

stream_event ending(finish_reason reason, std::int32_t completion_tokens, std::int32_t cached_tokens) {
  stream_event event;
  event.end = finished{reason, {}, {}, {}, {3, completion_tokens, cached_tokens}};
  return event;
}

TEST(whole_answer, several_choices_stand_by_their_index_and_share_one_usage) {
  whole_answer answer(identity, {.n = 3}, false, name);
  answer.add(2, saying("c"));
  answer.add(0, saying("a"));
  answer.add(1, saying("b"));
  answer.add(1, ending(finish_reason::length, 5, 2));
  answer.add(0, ending(finish_reason::stop, 4, 0));
  EXPECT_FALSE(answer.complete());
  answer.add(2, ending(finish_reason::timeout, 1, 3));
  EXPECT_TRUE(answer.complete());
  const auto body = nlohmann::json::parse(answer.body());
  const std::vector<std::string> texts = {"a", "b", "c"};
  const std::vector<std::string> reasons = {"stop", "length", "length"};
  ASSERT_EQ(body["choices"].size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(body["choices"][i]["index"], i);
    EXPECT_EQ(body["choices"][i]["message"]["content"], texts[i]);
    EXPECT_EQ(body["choices"][i]["finish_reason"], reasons[i]);
  }
  EXPECT_EQ(body["choices"][2]["stop_reason"], "timeout");
  EXPECT_EQ(body["usage"],
            nlohmann::json::parse(R"({"prompt_tokens":3,"completion_tokens":10,"total_tokens":13,
      "prompt_tokens_details":{"cached_tokens":0}})"));
}

// Else a client would take it for whole.
TEST(whole_answer, what_the_end_of_the_service_cuts_off_is_a_failure) {
  whole_answer answer(identity, {.n = 2}, false, name);
  answer.add(0, saying("a"));
  answer.add(0, ending(finish_reason::stop, 4, 0));
  EXPECT_FALSE(answer.complete());
  answer.add(1, ending(finish_reason::abort, 1, 3));
  EXPECT_TRUE(answer.complete());
  ASSERT_NE(answer.failure(), nullptr);
  EXPECT_EQ(answer.failure()->code, error_code::unavailable);

  chunk_stream stream(identity, {.stream = true}, false, name);
  std::string sent;
  stream.append(0, saying("a"), sent);
  stream.append(0, ending(finish_reason::abort, 1, 3), sent);
  EXPECT_TRUE(stream.ended());
  EXPECT_NE(sent.find("\"content\":\"a\""), std::string::npos);
  EXPECT_NE(sent.find("shutting down"), std::string::npos);
  EXPECT_EQ(sent.find("\"finish_reason\":\""), std::string::npos);
}

TEST(whole_answer, each_prompt_counts_once_with_what_its_first_answer_found_cached) {
  const answer_options options{.kind = answer_kind::completion, .n = 2, .prompts = 2};
  const std::vector<usage> used = {{3, 5, 1}, {3, 4, 2}, {7, 1, 4}, {7, 2, 6}};
  whole_answer answer(identity, options, false, name);
  std::string sent;
  chunk_stream stream(
      identity, {.kind = answer_kind::completion, .n = 2, .prompts = 2, .include_usage = true}, false, name);
  for (std::size_t i = 0; i < used.size(); ++i) {
    stream_event event = saying("x");
    event.end = finished{.reason = finish_reason::stop, .tokens = used[i]};
    stream.append(i, event, sent);
    answer.add(i, std::move(event));
  }
  const auto expected = nlohmann::json::parse(
      R"({"prompt_tokens":10,"completion_tokens":12,"total_tokens":22,"prompt_tokens_details":{"cached_tokens":5}})");
  EXPECT_EQ(nlohmann::json::parse(answer.body())["usage"], expected);
  const auto events = test::sent_events(sent);
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(events[4]["usage"], expected);
}

TEST(whole_answer, fails_as_a_whole_when_one_choice_fails) {
  whole_answer answer(identity, {.n = 2}, false, name);
  answer.add(0, saying("a"));
  stream_event event;
  event.end = finished{finish_reason::error, {}, {}, error{error_code::resource_exhausted, "full"}, {}};
  answer.add(1, event);
  EXPECT_TRUE(answer.complete());
  ASSERT_NE(answer.failure(), nullptr);
}

TEST(whole_answer, hands_on_a_warning) {
  whole_answer answer(identity, {}, false, name);
  stream_event event = saying("a");
  event.warnings = {"cut", "odd"};
  answer.add(0, event);
  answer.add(0, ending(finish_reason::stop, 1, 0));
  EXPECT_EQ(nlohmann::json::parse(answer.body())["warnings"], nlohmann::json::parse(R"(["cut","odd"])"));
  EXPECT_FALSE(whole({}, false).contains("warnings"));
}

TEST(whole_answer, tells_a_failure) {
  whole_answer answer(identity, {}, false, name);
  EXPECT_EQ(answer.failure(), nullptr);
  stream_event event;
  event.end = finished{finish_reason::error, {}, {}, error{error_code::too_large, "too long", "prompt"}, {}};
  answer.add(0, event);
  ASSERT_NE(answer.failure(), nullptr);
  EXPECT_EQ(answer.failure()->message, "too long");
}

std::vector<nlohmann::json> chunks_of(const answer_options& options, bool logprobs,
                                      const std::vector<stream_event>& events) {
  chunk_stream stream(identity, options, logprobs, name);
  std::string out;
  for (const stream_event& event : events) stream.append(0, event, out);
  return test::sent_events(out);
}

TEST(chunk_stream, a_chat_begins_with_its_role_and_ends_with_done) {
  const auto chunks = chunks_of({.stream = true}, false, {first_event(), last_event()});
  ASSERT_EQ(chunks.size(), 4U);
  EXPECT_EQ(chunks[0],
            nlohmann::json::parse(R"({"id":"id-1","object":"chat.completion.chunk","created":77,"model":"m",
      "choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null,
      "stop_reason":null}]})"));
  EXPECT_EQ(chunks[1]["choices"][0]["delta"], nlohmann::json::parse(R"({"content":"Hel"})"));
  EXPECT_EQ(chunks[2]["choices"][0]["delta"]["content"], "lo");
  EXPECT_EQ(chunks[2]["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(chunks[2]["choices"][0]["stop_reason"], "END");
  EXPECT_EQ(chunks[3], "[DONE]");
}

TEST(chunk_stream, a_completion_streams_text_and_moves_its_offsets) {
  const auto chunks = chunks_of({.kind = answer_kind::completion, .stream = true, .return_token_ids = true},
                                true, {first_event(), last_event()});
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0]["object"], "text_completion");
  EXPECT_EQ(chunks[0]["choices"][0]["text"], "Hel");
  EXPECT_EQ(chunks[0]["choices"][0]["prompt_token_ids"], nlohmann::json::parse("[10,11,12]"));
  EXPECT_EQ(chunks[1]["choices"][0]["logprobs"]["text_offset"], nlohmann::json::parse("[2]"));
  EXPECT_EQ(chunks[1]["choices"][0]["token_ids"], nlohmann::json::parse("[9]"));
  EXPECT_FALSE(chunks[1]["choices"][0].contains("prompt_token_ids"));
}

TEST(chunk_stream, usage_comes_in_a_chunk_of_its_own) {
  const auto chunks =
      chunks_of({.stream = true, .include_usage = true}, false, {first_event(), last_event()});
  ASSERT_EQ(chunks.size(), 5U);
  EXPECT_TRUE(chunks[1]["usage"].is_null());
  EXPECT_EQ(chunks[3]["choices"], nlohmann::json::array());
  EXPECT_EQ(chunks[3]["usage"]["total_tokens"], 5);
}

TEST(chunk_stream, usage_can_come_with_every_chunk) {
  stream_event cached = first_event();
  cached.cached_tokens = 2;
  const auto chunks = chunks_of({.stream = true, .continuous_usage = true}, false, {cached, last_event()});
  for (const int chunk : {0, 1}) {
    const auto& usage = chunks[static_cast<std::size_t>(chunk)]["usage"];
    EXPECT_EQ(usage["prompt_tokens"], 3);
    EXPECT_EQ(usage["completion_tokens"], chunk) << "the role's chunk has no token";
    EXPECT_EQ(usage["prompt_tokens_details"]["cached_tokens"], 2);
  }
}

TEST(chunk_stream, tokens_without_text_make_no_chunk_unless_they_are_asked_for) {
  stream_event silent;
  silent.tokens = {9};
  EXPECT_EQ(chunks_of({.stream = true}, false, {first_event(), silent, last_event()}).size(), 4U);
  EXPECT_EQ(
      chunks_of({.stream = true, .return_token_ids = true}, false, {first_event(), silent, last_event()})
          .size(),
      5U);
}

TEST(chunk_stream, choices_are_interleaved_and_each_begins_and_ends_by_itself) {
  const answer_options options{.n = 2, .stream = true, .include_usage = true};
  chunk_stream stream(identity, options, false, name);
  std::string out;
  stream.append(1, saying("b"), out);
  stream.append(0, saying("a"), out);
  stream.append(1, ending(finish_reason::length, 7, 2), out);
  EXPECT_FALSE(stream.ended());
  EXPECT_EQ(out.find("[DONE]"), std::string::npos);
  stream.append(0, ending(finish_reason::stop, 1, 0), out);
  EXPECT_TRUE(stream.ended());
  const auto chunks = test::sent_events(out);
  ASSERT_EQ(chunks.size(), 8U);
  const std::vector<int> indices = {1, 1, 0, 0, 1, 0};
  for (std::size_t i = 0; i < indices.size(); ++i)
    EXPECT_EQ(chunks[i]["choices"][0]["index"], indices[i]) << i;
  EXPECT_EQ(chunks[0]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(chunks[2]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(chunks[4]["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(chunks[6]["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(chunks[6]["usage"]["completion_tokens"], 8);
  EXPECT_EQ(chunks[7], "[DONE]");
}

TEST(chunk_stream, one_choice_that_fails_ends_all) {
  chunk_stream stream(identity, {.n = 2, .stream = true}, false, name);
  std::string out;
  stream.append(0, saying("a"), out);
  stream_event event;
  event.end = finished{finish_reason::error, {}, {}, error{error_code::internal, "a fault"}, {}};
  stream.append(1, event, out);
  EXPECT_TRUE(stream.ended());
  const std::string before = out;
  stream.append(0, saying("late"), out);
  EXPECT_EQ(out, before);
  EXPECT_EQ(test::sent_events(out).back(), "[DONE]");
}

TEST(chunk_stream, tells_a_warning_once) {
  stream_event event = first_event();
  event.warnings = {"cut", "odd"};
  const auto chunks = chunks_of({.stream = true}, false, {event, last_event()});
  EXPECT_EQ(chunks[0]["warnings"], nlohmann::json::parse(R"(["cut","odd"])"));
  EXPECT_FALSE(chunks[1].contains("warnings"));
}

TEST(chunk_stream, a_completion_keeps_its_warnings_until_it_has_text) {
  stream_event held = first_event();
  held.text.clear();  // it may be the beginning of a stop string
  held.warnings = {"cut"};
  stream_event next = first_event();
  const auto chunks =
      chunks_of({.kind = answer_kind::completion, .stream = true}, false, {held, next, last_event()});
  EXPECT_EQ(chunks[0]["choices"][0]["text"], "Hel");
  EXPECT_EQ(chunks[0]["warnings"], nlohmann::json::parse(R"(["cut"])"));
  EXPECT_FALSE(chunks[1].contains("warnings"));
}

TEST(request_status, tells_of_each_choice_and_of_the_one_that_is_least_far) {
  request_state running;
  running.phase = request_phase::running;
  running.reason = "running: prefill";
  running.prompt_tokens = 30;
  request_state waiting;
  waiting.reason = "waiting: no blocks (needs 12, free 3)";
  const auto body = nlohmann::json::parse(request_status_answer("id-1", "m",
                                                                {{running, {}, {}},
                                                                 {waiting, {}, {}},
                                                                 {{}, usage{9, 6, 5}, usage{9, 7, 5}},
                                                                 {{}, {}, {}},
                                                                 {{}, usage{9, 6, 5}, {}}}));
  EXPECT_EQ(body["id"], "id-1");
  EXPECT_EQ(body["state"], "waiting");
  EXPECT_EQ(body["reason"], "waiting: no blocks (needs 12, free 3)");
  EXPECT_EQ(body["choices"][0]["state"], "running");
  EXPECT_EQ(body["choices"][0]["prompt_tokens"], 30);
  EXPECT_EQ(body["choices"][2]["state"], "finished");
  EXPECT_EQ(body["choices"][3]["state"], "waiting");
  EXPECT_EQ(body["choices"][3]["reason"], "waiting: on its way to the scheduler, or back from it");
  EXPECT_EQ(body["choices"][4]["state"], "running") << "it was told of, and has no end yet";
  EXPECT_EQ(body["choices"][4]["completion_tokens"], 6);
  for (const auto& choice : body["choices"])
    for (const char* number :
         {"prompt_tokens", "cached_tokens", "computed_tokens", "completion_tokens", "preemptions"})
      EXPECT_TRUE(choice.contains(number) && choice[number].is_number_integer()) << choice << number;
  EXPECT_EQ(body["choices"][2]["prompt_tokens"], 9);
  EXPECT_EQ(body["choices"][2]["completion_tokens"], 7);
  EXPECT_EQ(body["choices"][2]["cached_tokens"], 5);
}

TEST(chunk_stream, a_failure_on_the_way_is_an_error_event_then_done) {
  stream_event event;
  event.end = finished{finish_reason::error, {}, {}, error{error_code::internal, "a fault"}, {}};
  const auto chunks = chunks_of({.stream = true, .include_usage = true}, false, {first_event(), event});
  ASSERT_EQ(chunks.size(), 4U);
  EXPECT_EQ(chunks[2]["error"]["message"], "a fault");
  EXPECT_EQ(chunks[3], "[DONE]");
}

TEST(error_body, every_code_has_its_status_and_shape) {
  const std::vector<std::pair<error_code, int>> statuses = {
      {error_code::invalid_argument, 400}, {error_code::context_length_exceeded, 400},
      {error_code::unsupported, 400},      {error_code::not_found, 404},
      {error_code::too_large, 413},        {error_code::resource_exhausted, 429},
      {error_code::unavailable, 503},      {error_code::internal, 500},
      {error_code::corrupt_file, 500},     {error_code::io_error, 500}};
  for (const auto& [code, status] : statuses) {
    EXPECT_EQ(http_status(code), status);
    const bool passes = status == 429 || status == 503;
    EXPECT_EQ(retry_after({code, "why"}), passes ? std::optional(1) : std::nullopt);
    const auto body = nlohmann::json::parse(error_body({code, "why \xFF", "field", 7}));
    EXPECT_EQ(body["error"].size(), passes ? 5U : 4U);
    EXPECT_EQ(body["error"].value("retry_after", 0), passes ? 7 : 0);
    EXPECT_EQ(body["error"]["message"], "why \ufffd");
    EXPECT_EQ(body["error"]["param"], "field");
  }
  EXPECT_TRUE(nlohmann::json::parse(error_body({error_code::internal, "x"}))["error"]["param"].is_null());
  EXPECT_EQ(nlohmann::json::parse(error_body({error_code::not_found, "x", "model"}))["error"]["code"],
            "model_not_found");
}

TEST(tokenize, parses_and_answers_in_vllm_s_shape) {
  const request_context context{"m", 100};
  auto text = parse_tokenize(json::parse(R"({"model":"m","prompt":"","add_special_tokens":false})"), context);
  ASSERT_TRUE(text.has_value());
  EXPECT_FALSE(std::get<text_prompt>(text->prompt).add_special_tokens);
  auto chat = parse_tokenize(
      json::parse(
          R"({"messages":[{"role":"user","content":"x"}],"add_generation_prompt":false,"return_token_strs":true})"),
      context);
  ASSERT_TRUE(chat.has_value());
  EXPECT_FALSE(std::get<chat_prompt>(chat->prompt).add_generation_prompt);
  EXPECT_TRUE(chat->return_token_strs);
  for (const char* body : {"{}", "[]", R"({"prompt":5})", R"({"prompt":"x","add_special_tokens":1})",
                           R"({"messages":[]})", R"({"prompt":"x","model":"y"})"}) {
    EXPECT_FALSE(parse_tokenize(json::parse(body), context).has_value()) << body;
  }
}

TEST(detokenize, takes_ids_of_the_vocabulary) {
  const request_context context{"m", 100};
  EXPECT_EQ(*parse_detokenize(json::parse(R"({"tokens":[0,99]})"), context), (std::vector<token_id>{0, 99}));
  EXPECT_TRUE(parse_detokenize(json::parse(R"({"tokens":[]})"), context)->empty());
  for (const char* body :
       {"{}", R"({"tokens":"1"})", R"({"tokens":[100]})", R"({"tokens":[-1]})", R"({"tokens":["1"]})"}) {
    EXPECT_EQ(parse_detokenize(json::parse(body), context).error().param, "tokens") << body;
  }
  EXPECT_EQ(detokenize_answer("a\"b"), R"({"prompt":"a\"b"})");
}

TEST(models, are_listed_with_their_context) {
  const model_description model{"m", 5, 64};
  EXPECT_EQ(nlohmann::json::parse(model_list_answer(model))["data"][0],
            nlohmann::json::parse(model_answer(model.id, model)));
  EXPECT_EQ(nlohmann::json::parse(model_answer(model.id, model))["max_model_len"], 64);
}

TEST(models, have_every_name_that_they_are_given) {
  const auto names = read_model_names("small, gpt-4o ,a <b>");
  ASSERT_EQ(names, (std::vector<std::string>{"small", "gpt-4o", "a <b>"}));
  const model_description model{"small", 5, 64, std::span(*names).subspan(1)};
  const auto listed = nlohmann::json::parse(model_list_answer(model))["data"];
  ASSERT_EQ(listed.size(), 3U);
  for (std::size_t i = 0; i < names->size(); ++i) {
    EXPECT_EQ(listed[i]["id"], names->at(i));
    EXPECT_EQ(listed[i]["root"], "small");
    EXPECT_EQ(listed[i], nlohmann::json::parse(model_answer(names->at(i), model)));
    EXPECT_TRUE(is_name_of(names->at(i), model));
    request_context context{.model = "small", .vocab_size = 100, .aliases = model.aliases};
    EXPECT_TRUE(check_model({{"model", names->at(i)}}, context));
    EXPECT_TRUE(parse_detokenize({{"model", names->at(i)}, {"tokens", {1}}}, context));
  }
  EXPECT_FALSE(is_name_of("gpt", model));
  EXPECT_EQ(check_model({{"model", "gpt"}}, {.model = "small", .aliases = model.aliases}).error().message,
            "the model \"gpt\" does not exist; served: \"small\", \"gpt-4o\", \"a <b>\"");
  for (const char* wrong : {"", " ", "a,", ",a", "a,,b", "a,b,a", "a,b\n", "a\xff"})
    EXPECT_FALSE(read_model_names(wrong)) << wrong;
}

}  // namespace
}  // namespace troupe::openai
