#include "runtime/openai/request.hpp"
#include "runtime/generation_request.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace troupe::openai {
namespace {

constexpr std::uint64_t drawn_seed = 99;

request_context context() { return {"m", 1000, 20, drawn_seed}; }

json chat_body(const std::string& members = "{}") {
  json body = json::parse(R"({"model":"m","messages":[{"role":"user","content":"hi"}]})");
  body.update(json::parse(members));
  return body;
}

json completion_body(const std::string& members = "{}") {
  json body = json::parse(R"({"model":"m","prompt":"hi"})");
  body.update(json::parse(members));
  return body;
}

TEST(parse_request, members_that_are_not_known_are_told) {
  const auto warnings = [](const std::string& members) {
    const auto parsed = parse_chat(
        json::parse(R"({"model":"m","messages":[{"role":"user","content":"hi"}],"metadata":{},"stop":null)" +
                    members + "}"),
        {"m", 1000, 20, 1});
    EXPECT_TRUE(parsed) << members;
    return parsed ? parsed->generation.warnings : std::vector<std::string>();
  };
  EXPECT_TRUE(warnings("").empty());
  EXPECT_TRUE(
      warnings(R"(,"temperature":1,"tools":[],"stream_options":null,"logprobs":false,"n":1)").empty());
  EXPECT_TRUE(warnings(R"(,"prediction":null,"web_search_options":null)").empty()) << "they say nothing";
  EXPECT_EQ(warnings(R"(,"temprature":1,"n_predict":2)"),
            (std::vector<std::string>{"temprature is not known here, and was ignored",
                                      "n_predict is not known here, and was ignored"}));
  std::string many;
  for (int i = 0; i < 50; ++i) many += ",\"" + std::string(100, 'x') + std::to_string(i) + "\":1";
  EXPECT_EQ(warnings(many).size(), 8U);
  EXPECT_LT(warnings(many).front().size(), 100U);
}

TEST(parse_chat, reads_every_sampling_field) {
  const auto parsed = parse_chat(chat_body(R"({
      "max_tokens":5,"min_tokens":2,"temperature":0.5,"top_p":0.25,"top_k":7,"min_p":0.125,"presence_penalty":1.5,
      "frequency_penalty":-1.5,"repetition_penalty":1.25,"seed":-3,"stop":["a","b"],"stop_token_ids":[4,5],
      "include_stop_str_in_output":true,"ignore_eos":true,"skip_special_tokens":false,"logprobs":true,
      "top_logprobs":3,"prompt_logprobs":2,"logit_bias":{"11":2.5,"10":-100},"user":"me","n":1,"best_of":1})"),
                                 context());
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  const sampling_params& s = parsed->generation.sampling;
  EXPECT_EQ(s.max_tokens, 5);
  EXPECT_EQ(s.min_tokens, 2);
  EXPECT_EQ(s.temperature, 0.5F);
  EXPECT_EQ(s.top_p, 0.25F);
  EXPECT_EQ(s.top_k, 7);
  EXPECT_EQ(s.min_p, 0.125F);
  EXPECT_EQ(s.presence_penalty, 1.5F);
  EXPECT_EQ(s.frequency_penalty, -1.5F);
  EXPECT_EQ(s.repetition_penalty, 1.25F);
  EXPECT_EQ(static_cast<std::int64_t>(s.seed), -3);
  EXPECT_EQ(s.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(s.stop_token_ids, (std::vector<token_id>{4, 5}));
  EXPECT_TRUE(s.include_stop_str_in_output);
  EXPECT_TRUE(s.ignore_eos);
  EXPECT_FALSE(s.skip_special_tokens);
  EXPECT_EQ(s.logprobs, 3);
  EXPECT_EQ(s.prompt_logprobs, 2);
  EXPECT_EQ(s.logit_bias, (std::vector<std::pair<token_id, float>>{{10, -100.0F}, {11, 2.5F}}));
  EXPECT_EQ(parsed->generation.user, "me");
}

TEST(parse_chat, reads_how_many_answers_and_how_to_schedule_them) {
  for (const auto& parse : {&parse_chat, &parse_completion}) {
    const json members = json::parse(
        R"({"n":3,"best_of":3,"priority":-7,"cache_salt":"pepper","user":"u","request_id":"job-1.a:b_c","timeout":2.5})");
    json body = parse == &parse_chat ? chat_body() : completion_body();
    body.update(members);
    const auto parsed = parse(body, context());
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    EXPECT_EQ(parsed->generation.n, 3);
    EXPECT_EQ(parsed->answer.n, 3);
    EXPECT_EQ(parsed->generation.priority, -7);
    EXPECT_EQ(parsed->generation.timeout, std::chrono::milliseconds(2500));
    EXPECT_EQ(parsed->generation.cache_salt, "pepper");
    EXPECT_EQ(parsed->generation.user, "u");
    EXPECT_EQ(parsed->request_id, "job-1.a:b_c");
  }
  const json long_text = {{"cache_salt", std::string(1025, 'x')}};
  json body = chat_body();
  body.update(long_text);
  EXPECT_EQ(parse_chat(body, context()).error().param, "cache_salt");
  EXPECT_EQ(parse_chat(chat_body(), context())->generation.n, 1);
}

TEST(parse_chat, absent_and_null_fields_keep_their_defaults) {
  const auto absent = parse_chat(chat_body(), context());
  const auto null =
      parse_chat(chat_body(R"({"max_tokens":null,"temperature":null,"stop":null,"seed":null,"stream":null,
      "logprobs":null,"top_logprobs":null,"logit_bias":null,"response_format":null,"tools":null,"n":null,"user":null,
      "stream_options":null,"model":null})"),
                 context());
  for (const auto* parsed : {&absent, &null}) {
    ASSERT_TRUE(parsed->has_value());
    const sampling_params& s = (*parsed)->generation.sampling;
    EXPECT_FALSE(s.max_tokens.has_value());
    EXPECT_EQ(s.temperature, 1.0F);
    EXPECT_EQ(s.seed, drawn_seed);
    EXPECT_FALSE(s.logprobs.has_value());
    EXPECT_FALSE((*parsed)->answer.stream);
  }
}

// As Python's json writes what is a float there.
TEST(parse_chat, a_whole_number_may_have_a_point) {
  const auto parsed = parse_chat(
      chat_body(R"({"max_tokens":8.0,"seed":-3.0,"n":2.0,"priority":-0.0,"top_k":4e1,"logprobs":true,
      "top_logprobs":2.0,"stop_token_ids":[4.0]})"),
      context());
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  const sampling_params& s = parsed->generation.sampling;
  EXPECT_EQ(s.max_tokens, 8);
  EXPECT_EQ(s.seed, static_cast<std::uint64_t>(-3));
  EXPECT_EQ(parsed->generation.n, 2);
  EXPECT_EQ(s.top_k, 40);
  EXPECT_EQ(s.logprobs, 2);
  EXPECT_EQ(s.stop_token_ids, (std::vector<token_id>{4}));
  EXPECT_EQ(parse_chat(chat_body(R"({"seed":-9223372036854775808.0})"), context())->generation.sampling.seed,
            std::uint64_t{1} << 63U);
  for (const char* beyond : {R"({"seed":9223372036854775808.0})", R"({"seed":-1e19})", R"({"seed":1e300})",
                             R"({"seed":1.5})", R"({"seed":1e-300})"})
    EXPECT_EQ(parse_chat(chat_body(beyond), context()).error().param, "seed") << beyond;
  EXPECT_EQ(parse_chat(chat_body(R"({"max_tokens":2147483648.0})"), context()).error().param, "max_tokens");
  EXPECT_TRUE(parse_completion(completion_body(R"({"prompt":[[1.0,2.0]]})"), context()));
}

TEST(parse_chat, no_alternatives_need_no_log_probabilities) {
  for (const char* members : {R"({"top_logprobs":0})", R"({"logprobs":false,"top_logprobs":0})"}) {
    const auto parsed = parse_chat(chat_body(members), context());
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    EXPECT_FALSE(parsed->generation.sampling.logprobs);
  }
}

TEST(parse_chat, names_the_field_at_fault) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {R"({"max_tokens":"5"})", "max_tokens"},
      {R"({"max_tokens":1.5})", "max_tokens"},
      {R"({"max_tokens":9223372036854775808})", "max_tokens"},
      {R"({"max_tokens":0})", "max_tokens"},
      {R"({"max_tokens":-1})", "max_tokens"},
      {R"({"max_completion_tokens":true})", "max_completion_tokens"},
      {R"({"temperature":"hot"})", "temperature"},
      {R"({"temperature":-1})", "temperature"},
      {R"({"temperature":1e39})", "temperature"},
      {R"({"temperature":[1]})", "temperature"},
      {R"({"top_p":2})", "top_p"},
      {R"({"top_k":-2})", "top_k"},
      {R"({"min_p":-0.5})", "min_p"},
      {R"({"presence_penalty":100})", "presence_penalty"},
      {R"({"frequency_penalty":{}})", "frequency_penalty"},
      {R"({"repetition_penalty":0})", "repetition_penalty"},
      {R"({"seed":9223372036854775808})", "seed"},
      {R"({"seed":1.5})", "seed"},
      {R"({"seed":"1"})", "seed"},
      {R"({"stop":5})", "stop"},
      {R"({"stop":[5]})", "stop"},
      {R"({"stop":""})", "stop"},
      {R"({"stop":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"]})", "stop"},
      {R"({"stop_token_ids":"1"})", "stop_token_ids"},
      {R"({"stop_token_ids":[1,"2"]})", "stop_token_ids"},
      {R"({"ignore_eos":1})", "ignore_eos"},
      {R"({"stream":"yes"})", "stream"},
      {R"({"stream_options":{"include_usage":true}})", "stream_options"},
      {R"({"stream":true,"stream_options":1})", "stream_options"},
      {R"({"stream":true,"stream_options":{"include_usage":1}})", "stream_options"},
      {R"({"logprobs":1})", "logprobs"},
      {R"({"top_logprobs":2})", "top_logprobs"},
      {R"({"top_logprobs":-1})", "top_logprobs"},
      {R"({"logprobs":true,"top_logprobs":21})", "top_logprobs"},
      {R"({"logprobs":true,"top_logprobs":-1})", "top_logprobs"},
      {R"({"prompt_logprobs":-2})", "prompt_logprobs"},
      {R"({"prompt_logprobs":1,"stream":true})", "prompt_logprobs"},
      {R"({"logit_bias":[1]})", "logit_bias"},
      {R"({"logit_bias":{"x":1}})", "logit_bias"},
      {R"({"logit_bias":{"1000":1}})", "logit_bias"},
      {R"({"logit_bias":{"-1":1}})", "logit_bias"},
      {R"({"logit_bias":{"1":101}})", "logit_bias"},
      {R"({"logit_bias":{"1":"a"}})", "logit_bias"},
      {R"({"n":129})", "n"},
      {R"({"n":-1})", "n"},
      {R"({"n":1.5})", "n"},
      {R"({"n":99999999999})", "n"},
      {R"({"n":2,"best_of":1})", "best_of"},
      {R"({"priority":"high"})", "priority"},
      {R"({"timeout":"soon"})", "timeout"},
      {R"({"timeout":0})", "timeout"},
      {R"({"timeout":-1})", "timeout"},
      {R"({"timeout":604801})", "timeout"},
      {R"({"timeout":1e300})", "timeout"},
      {R"({"priority":2147483648})", "priority"},
      {R"({"cache_salt":""})", "cache_salt"},
      {R"({"cache_salt":5})", "cache_salt"},
      {R"({"request_id":""})", "request_id"},
      {R"({"request_id":"a b"})", "request_id"},
      {R"({"request_id":"\u00e9"})", "request_id"},
      {R"({"n":0})", "n"},
      {R"({"n":"1"})", "n"},
      {R"({"best_of":3})", "best_of"},
      {R"({"response_format":"text"})", "response_format"},
      {R"({"tools":[{"type":"function"}]})", "tools"},
      {R"({"tool_choice":"required"})", "tool_choice"},
      {R"({"tool_choice":{"type":"function"}})", "tool_choice"},
      {R"({"modalities":["text","audio"]})", "modalities"},
      {R"({"use_beam_search":true})", "use_beam_search"},
      {R"({"chat_template":"{{ 1 }}"})", "chat_template"},
      {R"({"continue_final_message":true,"add_generation_prompt":true})", "continue_final_message"},
      {R"({"chat_template_kwargs":"x"})", "chat_template_kwargs"},
      {R"({"chat_template_kwargs":{"messages":[]}})", "chat_template_kwargs"},
      {R"({"user":5})", "user"},
      {R"({"add_generation_prompt":"no"})", "add_generation_prompt"},
      {R"({"return_token_ids":1})", "return_token_ids"},
      {R"({"model":5})", "model"},
      {R"({"messages":null})", "messages"},
      {R"({"messages":[]})", "messages"},
      {R"({"messages":"hi"})", "messages"},
      {R"({"messages":[5]})", "messages"},
      {R"({"messages":[{"content":"hi"}]})", "messages"},
      {R"({"messages":[{"role":"","content":"hi"}]})", "messages"},
      {R"({"messages":[{"role":1,"content":"hi"}]})", "messages"},
      {R"({"messages":[{"role":"user"}]})", "messages"},
      {R"({"messages":[{"role":"user","content":null}]})", "messages"},
      {R"({"messages":[{"role":"user","content":5}]})", "messages"},
      {R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})", "messages"},
      {R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})", "messages"},
  };
  for (const auto& [members, param] : wrong) {
    const auto parsed = parse_chat(chat_body(members), context());
    ASSERT_FALSE(parsed.has_value()) << members;
    EXPECT_EQ(parsed.error().code, error_code::invalid_argument) << members;
    EXPECT_EQ(parsed.error().param, param) << members << ": " << parsed.error().message;
  }
}

TEST(parse_chat, an_unknown_model_is_not_found) {
  const auto parsed = parse_chat(chat_body(R"({"model":"gpt-4"})"), context());
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().code, error_code::not_found);
  EXPECT_EQ(parsed.error().param, "model");
}

TEST(parse_chat, fields_that_change_nothing_are_accepted) {
  EXPECT_TRUE(parse_chat(
      chat_body(R"({"unknown":{"deep":[1]},"metadata":{},"store":true,"response_format":{"type":"text"},
      "tool_choice":"none","tools":[],"parallel_tool_calls":true,"use_beam_search":false,"guided_json":null})"),
      context()));
  EXPECT_TRUE(parse_chat(
      chat_body(R"({"tool_choice":{},"function_call":"","chat_template":"","modalities":["text"]})"),
      context()));
}

TEST(parse_chat, joins_text_parts_and_keeps_other_members) {
  const auto parsed = parse_chat(
      chat_body(
          R"({"messages":[{"role":"user","name":"x","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
              {"role":"assistant","content":null,"prefix":[]}]})"),
      context());
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  const auto& chat = std::get<chat_prompt>(parsed->generation.prompt);
  EXPECT_EQ(
      chat.messages.dump(),
      R"([{"role":"user","name":"x","content":"a\nb"},{"role":"assistant","content":null,"prefix":[]}])");
}

std::string messages_of(const std::string& messages) {
  json body = chat_body();
  body["messages"] = json::parse(messages);
  const auto parsed = parse_chat(body, context());
  return parsed ? std::get<chat_prompt>(parsed->generation.prompt).messages.dump() : parsed.error().message;
}

// As openai-python's message.model_dump() has it: templates ask whether a message has calls.
TEST(parse_chat, leaves_out_what_is_null_in_a_message_and_calls_that_are_none) {
  EXPECT_EQ(messages_of(R"([{"role":"user","content":"a","name":null},
      {"role":"assistant","content":"b","refusal":null,"annotations":null,"audio":null,"function_call":null,
       "tool_calls":null,"reasoning_content":null}])"),
            R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"}])");
  EXPECT_EQ(messages_of(R"([{"role":"assistant","content":null,"tool_calls":[]}])"),
            R"([{"role":"assistant","content":null}])");
}

TEST(parse_chat, takes_a_message_s_reasoning_by_its_newer_name_too) {
  EXPECT_EQ(messages_of(R"([{"role":"assistant","content":"a","reasoning":"b"}])"),
            R"([{"role":"assistant","content":"a","reasoning":"b","reasoning_content":"b"}])");
  EXPECT_EQ(messages_of(R"([{"role":"assistant","content":"a","reasoning":"b","reasoning_content":null}])"),
            R"([{"role":"assistant","content":"a","reasoning":"b","reasoning_content":"b"}])");
  for (const char* kept : {R"([{"role":"assistant","content":"a","reasoning":"b","reasoning_content":"c"}])",
                           R"([{"role":"assistant","content":"a","reasoning":"b","reasoning_content":""}])",
                           R"([{"role":"assistant","content":"a","reasoning":{"b":1}}])"})
    EXPECT_EQ(messages_of(kept), kept);
}

TEST(parse_chat, a_tool_may_have_said_nothing) {
  EXPECT_EQ(messages_of(R"([{"role":"tool","content":null,"tool_call_id":"1"}])"),
            R"([{"role":"tool","content":"","tool_call_id":"1"}])");
  EXPECT_EQ(messages_of(R"([{"role":"tool","tool_call_id":"1"}])"),
            R"([{"role":"tool","tool_call_id":"1","content":""}])");
  for (const char* role : {"system", "user", "developer"})
    EXPECT_EQ(messages_of(std::string(R"([{"role":")") + role + R"("}])"), "messages[0].content is missing");
}

TEST(parse_chat, options_of_a_stream_that_ask_for_nothing_need_none) {
  EXPECT_TRUE(parse_chat(chat_body(R"({"stream":false,"stream_options":{}})"), context()));
  EXPECT_TRUE(parse_chat(chat_body(R"({"stream_options":{}})"), context()));
  const auto asked = parse_chat(chat_body(R"({"stream_options":{"include_usage":false}})"), context());
  ASSERT_FALSE(asked) << "as OpenAI";
  EXPECT_EQ(asked.error().param, "stream_options");
}

TEST(parse_chat, takes_a_bias_for_each_of_4096_tokens_and_no_more) {
  request_context wide = context();
  wide.vocab_size = 5000;
  json biases;
  for (int id = 0; id < 4096; ++id) biases[std::to_string(id)] = 1.5;
  const auto all = parse_chat(chat_body(json{{"logit_bias", biases}}.dump()), wide);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->generation.sampling.logit_bias.size(), 4096U);
  biases["4096"] = 1.5;
  const auto refused = parse_chat(chat_body(json{{"logit_bias", biases}}.dump()), wide);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::invalid_argument);
  EXPECT_EQ(refused.error().param, "logit_bias");
  EXPECT_EQ(refused.error().message, "logit_bias has at most 4096 tokens");
}

TEST(parse_chat, takes_the_roles_of_the_api_and_names_them_to_who_gives_another) {
  const auto with_role = [](const std::string& role) {
    json body = chat_body();
    body["messages"][0]["role"] = role;
    return parse_chat(body, context());
  };
  for (const char* role : {"system", "user", "assistant", "tool", "developer"}) {
    EXPECT_TRUE(with_role(role)) << role;
    EXPECT_NE(with_role("usr").error().message.find(role), std::string::npos);
  }
  for (const char* role : {"usr", "User", "user ", "function"}) {
    ASSERT_FALSE(with_role(role)) << role;
    EXPECT_EQ(with_role(role).error().code, error_code::invalid_argument);
    EXPECT_EQ(with_role(role).error().param, "messages");
  }
}

TEST(parse_chat, max_completion_tokens_is_the_newer_name_and_errors_call_it_so) {
  const auto field_of = [](const std::string& body) {
    return std::string(parse_chat(chat_body(body), context())->generation.sampling.max_tokens_field);
  };
  const std::string both = R"({"max_tokens":5,"max_completion_tokens":6})";
  EXPECT_EQ(parse_chat(chat_body(both), context())->generation.sampling.max_tokens, 6);
  EXPECT_EQ(field_of(both), "max_completion_tokens");
  EXPECT_EQ(field_of(R"({"max_tokens":5})"), "max_tokens");
  EXPECT_EQ(field_of(R"({"max_tokens":5,"max_completion_tokens":null})"), "max_tokens");
}

TEST(parse_chat, any_64_bit_seed_is_kept) {
  for (const char* seed : {"0", "-1", "9223372036854775807", "-9223372036854775808"}) {
    const auto parsed = parse_chat(chat_body(std::string(R"({"seed":)") + seed + "}"), context());
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(std::to_string(static_cast<std::int64_t>(parsed->generation.sampling.seed)), seed);
  }
}

TEST(parse_chat, tells_a_seed_of_the_clients_from_one_that_was_drawn_for_it) {
  EXPECT_TRUE(parse_chat(chat_body(R"({"seed":0})"), context())->generation.sampling.is_seeded);
  for (const char* none : {"{}", R"({"seed":null})"})
    EXPECT_FALSE(parse_chat(chat_body(none), context())->generation.sampling.is_seeded);
}

TEST(parse_chat, takes_how_it_is_rendered) {
  const auto prompt = [](const char* members) {
    return std::get<chat_prompt>(parse_chat(chat_body(members), context())->generation.prompt);
  };
  EXPECT_TRUE(prompt("{}").template_arguments.is_null());
  EXPECT_TRUE(prompt(R"({"chat_template_kwargs":{}})").template_arguments.is_null());
  EXPECT_EQ(prompt(R"({"chat_template_kwargs":{"enable_thinking":false}})").template_arguments,
            json::parse(R"({"enable_thinking":false})"));
  EXPECT_TRUE(prompt("{}").add_generation_prompt);
  EXPECT_TRUE(prompt(R"({"continue_final_message":true})").continue_final_message);
  EXPECT_FALSE(prompt(R"({"continue_final_message":true})").add_generation_prompt);
}

TEST(parse_completion, takes_text_and_token_ids) {
  const auto prompt = [](const char* members) {
    return parse_completion(completion_body(members), context())->generation.prompt;
  };
  EXPECT_EQ(std::get<text_prompt>(prompt("{}")).text, "hi");
  EXPECT_TRUE(std::get<text_prompt>(prompt("{}")).add_special_tokens);
  EXPECT_FALSE(std::get<text_prompt>(prompt(R"({"add_special_tokens":false})")).add_special_tokens);
  EXPECT_EQ(std::get<token_prompt>(prompt(R"({"prompt":[1,2,999]})")).ids,
            (std::vector<token_id>{1, 2, 999}));
  EXPECT_EQ(std::get<text_prompt>(prompt(R"({"prompt":["one"]})")).text, "one");
  EXPECT_EQ(std::get<token_prompt>(prompt(R"({"prompt":[[3,4]]})")).ids, (std::vector<token_id>{3, 4}));
}

TEST(parse_completion, takes_several_prompts_that_are_alike_but_for_the_seeds_drawn_for_them) {
  for (const bool seeded : {false, true}) {
    const char* const seed = seeded ? R"("seed":5,)" : "";
    const auto parsed =
        parse_completion(completion_body(std::string("{") + seed +
                                         R"("prompt":["a",[3,4],"c"],"n":2,"max_tokens":7,"user":"me"})"),
                         context());
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    EXPECT_EQ(parsed->answer.choices(), 6);
    ASSERT_EQ(parsed->further.size(), 2U);
    EXPECT_EQ(std::get<text_prompt>(parsed->generation.prompt).text, "a");
    EXPECT_EQ(std::get<token_prompt>(parsed->further[0].prompt).ids, (std::vector<token_id>{3, 4}));
    EXPECT_EQ(std::get<text_prompt>(parsed->further[1].prompt).text, "c");
    std::uint64_t seed_of_next = parsed->generation.sampling.seed;
    for (const generation_request& each : parsed->further) {
      if (!seeded) seed_of_next += 2;
      EXPECT_EQ(each.sampling.seed, seed_of_next);
      EXPECT_EQ(each.sampling.max_tokens, 7);
      EXPECT_EQ(each.n, 2);
      EXPECT_EQ(each.user, "me");
    }
  }
}

TEST(parse_completion, gives_128_answers_at_most) {
  const auto fault = [](std::size_t prompts, int n) {
    json body = completion_body();
    body["prompt"] = std::vector<std::string>(prompts, "a");
    body["n"] = n;
    const auto parsed = parse_completion(body, context());
    return parsed ? "" : parsed.error().param;
  };
  EXPECT_EQ(fault(128, 1), "");
  EXPECT_EQ(fault(64, 2), "");
  EXPECT_EQ(fault(129, 1), "prompt");
  EXPECT_EQ(fault(65, 2), "n");
}

TEST(parse_completion, asks_for_the_prompts_log_probabilities_with_echo) {
  const auto parsed = [](const char* members) {
    return parse_completion(completion_body(members), context());
  };
  const auto with_logprobs = parsed(R"({"echo":true,"logprobs":3})");
  EXPECT_EQ(with_logprobs->generation.sampling.prompt_logprobs, 3);
  EXPECT_FALSE(with_logprobs->answer.prompt_logprobs) << "they stand with the answer's";
  EXPECT_TRUE(parsed(R"({"echo":true,"logprobs":3,"stream":true})").has_value());
  EXPECT_FALSE(parsed(R"({"echo":true})")->generation.sampling.prompt_logprobs.has_value());
  EXPECT_TRUE(parsed(R"({"echo":true,"logprobs":3,"prompt_logprobs":3})")->answer.prompt_logprobs);
  EXPECT_EQ(parsed(R"({"echo":true,"logprobs":3,"prompt_logprobs":2})").error().param, "prompt_logprobs");
  EXPECT_EQ(parsed(R"({"echo":true,"prompt_logprobs":2})").error().param, "prompt_logprobs");
  const auto alone = parsed(R"({"echo":true,"max_tokens":0})");
  EXPECT_TRUE(alone->answer.prompt_alone);
  EXPECT_EQ(alone->generation.sampling.max_tokens, 1);
  EXPECT_EQ(parsed(R"({"max_tokens":0})").error().param, "max_tokens") << "nothing would be left";
}

TEST(parse_completion, refuses_other_prompts) {
  for (const char* members :
       {R"({"prompt":null})", R"({"prompt":""})", R"({"prompt":[]})", R"({"prompt":[""]})",
        R"({"prompt":[[]]})", R"({"prompt":["a",""]})", R"({"prompt":["a",5]})", R"({"prompt":[[1],[]]})",
        R"({"prompt":5})", R"({"prompt":{}})", R"({"prompt":[1,"a"]})", R"({"prompt":[1.5]})",
        R"({"prompt":[-1]})", R"({"prompt":[1000]})", R"({"prompt":[1,null]})", R"({"prompt":[[1,[2]]]})",
        R"({"prompt":[18446744073709551615]})", R"({"prompt":true})"}) {
    const auto parsed = parse_completion(completion_body(members), context());
    ASSERT_FALSE(parsed.has_value()) << members;
    EXPECT_EQ(parsed.error().param, "prompt") << members;
  }
}

TEST(parse_completion, has_its_own_defaults_and_fields) {
  for (const auto& [members, max_tokens, is_default] :
       {std::tuple{"{}", 16, true}, std::tuple{R"({"max_tokens":null})", 16, true},
        std::tuple{R"({"max_tokens":16})", 16, false},
        std::tuple{R"({"max_tokens":0,"echo":true})", 1, false}}) {
    const auto parsed = parse_completion(completion_body(members), context());
    ASSERT_TRUE(parsed) << members;
    EXPECT_EQ(parsed->generation.sampling.max_tokens, max_tokens) << members;
    EXPECT_EQ(parsed->generation.max_tokens_is_default, is_default) << members;
  }
  EXPECT_EQ(parse_completion(completion_body(R"({"logprobs":0})"), context())->generation.sampling.logprobs,
            0);
  EXPECT_EQ(parse_completion(completion_body(R"({"logprobs":true})"), context()).error().param, "logprobs");
  EXPECT_EQ(parse_completion(completion_body(R"({"echo":1})"), context()).error().param, "echo");
  EXPECT_EQ(parse_completion(completion_body(R"({"suffix":"x"})"), context()).error().param, "suffix");
  EXPECT_TRUE(parse_completion(completion_body(R"({"echo":false,"suffix":""})"), context()).has_value());
}

TEST(parse_generation, messages_make_a_chat) {
  json body = chat_body();
  body["echo"] = true;
  EXPECT_EQ(parse_generation(body, context()).error().param, "echo");
  EXPECT_EQ(parse_generation(chat_body(), context())->answer.kind, answer_kind::chat);
  EXPECT_EQ(parse_generation(completion_body(), context())->answer.kind, answer_kind::completion);
  for (const char* text : {"null", "[]", "5", "\"x\"", "{}"}) {
    EXPECT_FALSE(parse_generation(json::parse(text), context()).has_value()) << text;
  }
}

// It is of the protocol whose answers all come in pieces.
TEST(parse_generation, whether_to_stream_makes_no_difference) {
  for (const json& asked : {chat_body(), completion_body()})
    for (const char* members :
         {R"({"stream_options":{"include_usage":true}})", R"({"stream":false,"stream_options":{"x":1}})",
          R"({"stream":true,"prompt_logprobs":1})", R"({"stream":true})"}) {
      json body = asked;
      body.update(json::parse(members));
      const auto parsed = parse_generation(body, context());
      ASSERT_TRUE(parsed) << members << ": " << parsed.error().message;
      EXPECT_TRUE(parsed->generation.warnings.empty()) << members;
    }
}

TEST(parse_generation, any_value_in_any_field_is_parsed_or_refused_by_name) {
  const std::vector<std::string> names = {
      "max_tokens",  "min_tokens", "temperature",    "top_p",         "top_k",
      "seed",        "stop",       "stop_token_ids", "logit_bias",    "messages",
      "prompt",      "stream",     "stream_options", "logprobs",      "top_logprobs",
      "n",           "user",       "model",          "tools",         "response_format",
      "tool_choice", "echo",       "suffix",         "function_call", "modalities"};
  const std::vector<json> values = {nullptr,
                                    true,
                                    0,
                                    -1,
                                    1.5,
                                    1e300,
                                    "",
                                    "text",
                                    json::array(),
                                    json::array({1, "a"}),
                                    json::object(),
                                    {{"type", "text"}},
                                    {{"1", 2}},
                                    json::array({json::object()})};
  std::mt19937 random(13);
  for (int i = 0; i < 5000; ++i) {
    json body = random() % 2 == 0 ? chat_body() : completion_body();
    for (auto edits = 1 + random() % 4; edits > 0; --edits) {
      body[names[random() % names.size()]] = values[random() % values.size()];
    }
    const auto parsed = parse_generation(body, context());
    if (!parsed) {
      EXPECT_FALSE(parsed.error().param.empty()) << body.dump();
    }
  }
}

}  // namespace
}  // namespace troupe::openai
