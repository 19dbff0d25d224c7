// Bodies of /v1/responses: what of a chat's they say by other names, and what they cannot have.
#include "runtime/openai/responses/response_request.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/grammar/specification/grammar_spec.hpp"

namespace troupe::openai {
namespace {

result<parsed_request> parse(const std::string& members) {
  return parse_response(*read_body("{" + members + "}"), {"m", 1000, 20, 1});
}

std::string refusal(const std::string& members) {
  const auto parsed = parse(members);
  return parsed ? "served" : parsed.error().param + ": " + parsed.error().message;
}

json echoed(const parsed_request& parsed) { return json::parse("{" + *parsed.echoed_members + "}"); }

TEST(response_request, is_a_chat_by_other_names) {
  const auto parsed = parse(
      R"("model":"m","instructions":"Be brief.","input":[{"role":"user","content":"hi"}],"stream":true,
         "max_output_tokens":7,"temperature":0.5,"top_p":0.25,"top_k":3,"seed":9,"user":"u",
         "reasoning":{"effort":"low","summary":"auto"},"store":true,"include":["reasoning.encrypted_content"],
         "truncation":"disabled","service_tier":"auto","top_logprobs":4,"metadata":{"a":"b"})");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(parsed->answer.kind, answer_kind::response);
  EXPECT_TRUE(parsed->answer.stream);
  const auto& prompt = std::get<chat_prompt>(parsed->generation.prompt);
  EXPECT_EQ(prompt.messages.dump(),
            R"([{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}])");
  EXPECT_EQ(prompt.template_arguments["reasoning_effort"], "low");
  EXPECT_EQ(prompt.field, "input");
  EXPECT_TRUE(parsed->answer.reasoning_summary);
  EXPECT_EQ(echoed(*parsed)["reasoning"].dump(), R"({"effort":"low","summary":"auto"})");
  const sampling_params& sampling = parsed->generation.sampling;
  EXPECT_EQ(sampling.max_tokens, 7);
  EXPECT_EQ(sampling.max_tokens_field, "max_output_tokens");
  EXPECT_EQ(sampling.temperature, 0.5F);
  EXPECT_EQ(sampling.top_k, 3);
  EXPECT_EQ(sampling.seed, 9U);
  EXPECT_FALSE(sampling.logprobs.has_value()) << "they are not included";
  EXPECT_EQ(parsed->generation.user, "u");
  EXPECT_TRUE(parsed->generation.warnings.empty()) << parsed->generation.warnings.front();
}

TEST(response_request, an_answer_repeats_what_it_was_asked) {
  const std::string tools =
      R"([{"type":"function","name":"f","parameters":{"maximum":12345678901234567890123}}])";
  const auto served = parse(R"("input":"hi","instructions":"a\"b","temperature":0.5,"max_output_tokens":7,
    "reasoning":{"effort":"low"},"tools":)" +
                            tools);
  ASSERT_TRUE(served.has_value()) << served.error().message;
  const json members = echoed(*served);
  EXPECT_EQ(members["instructions"], "a\"b");
  EXPECT_EQ(members["temperature"], 0.5);
  EXPECT_EQ(members["top_p"], 1);
  EXPECT_EQ(members["max_output_tokens"], 7);
  EXPECT_EQ(members["reasoning"].dump(), R"({"effort":"low","summary":null})");
  EXPECT_EQ(members["text"].dump(), R"({"format":{"type":"text"},"verbosity":"medium"})");
  EXPECT_EQ(members["tool_choice"], "auto");
  EXPECT_TRUE(members["user"].is_null() && members["metadata"].is_object());
  EXPECT_NE(served->echoed_members->find(R"("maximum":12345678901234567890123)"), std::string::npos)
      << *served->echoed_members;
}

TEST(response_request, metadata_is_limited_in_characters) {
  const auto with = [](std::size_t name, std::size_t value) {
    std::string sent = R"("input":"a","metadata":{")";
    for (std::size_t i = 0; i < name; ++i) sent += "é";
    sent += R"(":")";
    for (std::size_t i = 0; i < value; ++i) sent += "東";
    return parse(sent + "\"}");
  };
  EXPECT_TRUE(with(64, 512).has_value());
  EXPECT_FALSE(with(65, 512).has_value());
  EXPECT_FALSE(with(64, 513).has_value());
}

TEST(response_request, what_is_repeated_has_the_form_of_openai_s_types) {
  const auto members = [](const std::string& sent) { return echoed(*parse(R"("input":"a",)" + sent)); };
  const std::string nested = R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":)";
  EXPECT_EQ(members(nested + R"({"type":"function","function":{"name":"f"}})")["tool_choice"].dump(),
            R"({"type":"function","name":"f"})");
  const json allowed = members(
      nested +
      R"({"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}}]}})");
  EXPECT_EQ(allowed["tools"].dump(), R"([{"type":"function","name":"f","parameters":null,"strict":null}])");
  EXPECT_EQ(allowed["tool_choice"].dump(),
            R"({"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]})");
  const json named = members(
      nested + R"({"type":"function","function":{"name":"f"},"mode":5,"tools":[5],"allowed_tools":6})");
  EXPECT_EQ(named["tool_choice"].dump(), R"({"type":"function","name":"f"})");
  const json empty = members(R"("tools":false,"tool_choice":"","max_tokens":7,"top_logprobs":3)");
  EXPECT_EQ(empty["tools"].dump(), "[]");
  EXPECT_EQ(empty["tool_choice"], "auto");
  EXPECT_EQ(empty["max_output_tokens"], 7);
  EXPECT_EQ(empty["top_logprobs"], 3);
  EXPECT_EQ(members(R"("tool_choice":{},"text":{})").dump(), members(R"("top_p":1)").dump());
  EXPECT_EQ(members(R"("text":{"format":{"type":"json_schema","schema":{}}})")["text"]["format"]["name"],
            "response");
}

TEST(response_request, tools_may_be_named_flat) {
  const auto parsed = parse(R"("input":"hi","tools":[
    {"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":true},
    {"type":"function","name":"g"}],"tool_choice":{"type":"function","name":"g"})");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(std::get<chat_prompt>(parsed->generation.prompt).tools.dump(),
            R"([{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"},)"
            R"("strict":true}},{"type":"function","function":{"name":"g"}}])");
  const json held = json::parse(parsed->generation.sampling.grammar->text);
  EXPECT_EQ(held["allowed"].dump(), R"(["g"])");
  EXPECT_TRUE(held["must_call"] == true && held["tools"][0]["function"]["strict"] == true);
  EXPECT_TRUE(refusal(R"("input":"a","tools":[{"type":"function","name":""}])")
                  .starts_with("tools: tools[0].name must be"));
}

TEST(response_request, an_answer_is_held_to_its_text_format) {
  const auto parsed =
      parse(R"("input":"hi","text":{"verbosity":"low","format":{"type":"json_schema","name":"n",
    "strict":true,"schema":{"type":"object"}}})");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  const grammar_spec& spec = *parsed->generation.sampling.grammar;
  EXPECT_EQ(spec.kind, grammar_kind::json_schema);
  EXPECT_EQ(spec.text, R"({"type":"object"})");
  EXPECT_EQ(spec.json, json_schema::as_clients_expect);
  EXPECT_EQ(parsed->generation.warnings,
            std::vector<std::string>{"text.verbosity is not known here, and was ignored"});
  EXPECT_EQ(
      parse(R"("input":"hi","text":{"format":{"type":"json_object"}})")->generation.sampling.grammar->kind,
      grammar_kind::json_object);
  EXPECT_EQ(parse(R"("input":"hi","text":{"format":{"type":"text"}})")->generation.sampling.grammar, nullptr);
}

TEST(response_request, log_probabilities_are_told_where_they_are_included) {
  const std::string included = R"("input":"a","include":["message.output_text.logprobs"])";
  EXPECT_EQ(parse(included)->generation.sampling.logprobs, 0);
  EXPECT_EQ(parse(included + R"(,"top_logprobs":3)")->generation.sampling.logprobs, 3);
  EXPECT_EQ(refusal(included + R"(,"top_logprobs":21)"),
            "top_logprobs: top_logprobs must be between 0 and 20, got 21");
}

TEST(response_request, what_is_wrong_or_not_served_is_named) {
  const std::string many = "\"a\":\"" + std::string(513, 'x') + "\"";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("model":"m")", "input: input is missing"},
      {R"("model":"other","input":"a")", "model: the model \"other\" does not exist"},
      {R"("input":"a","instructions":5)", "instructions: instructions must be a string"},
      {R"("input":"a","previous_response_id":"resp_1")", "previous_response_id: previous_response_id is not"},
      {R"("input":"a","conversation":{"id":"c"})", "conversation: conversation is not supported"},
      {R"("input":"a","background":true)", "background: background is not supported"},
      {R"("input":"a","prompt":{"id":"p"})", "prompt: prompt is not supported"},
      {R"("input":"a","truncation":"auto")", "truncation: truncation is not supported"},
      {R"("input":"a","messages":[{"role":"user"}])", "messages: messages is for /v1/chat/completions"},
      {R"("input":"a","n":2)", "n: there is one answer"},
      {R"("input":"a","metadata":{)" + many + "}", "metadata: metadata must be"},
      {R"("input":"a","metadata":{"a":5})", "metadata: metadata must be"},
      {R"("input":"a","text":5)", "text: text must be an object"},
      {R"("input":"a","text":{"format":5})", "text: text.format must be an object"},
      {R"("input":"a","text":{"format":{"type":"json_schema","name":"n"}})", "text: text.format needs"},
      {R"("input":"a","text":{"format":{"type":"xml"}})", "text: the type of text.format must be"},
      {R"("input":"a","text":{"format":{"type":"json_schema","schema":5}})", "text: text.format"},
      {R"("input":"a","reasoning":[])", "reasoning: reasoning must be an object"},
      {R"("input":"a","reasoning":{"effort":5})", "reasoning: reasoning.effort must be a string"},
      {R"("input":"a","reasoning":{"summary":"long"})", "reasoning: reasoning.summary must be"},
      {R"("input":"a","top_logprobs":"x")", "top_logprobs: top_logprobs must be an integer"},
      {R"("input":[{"type":"reasoning","summary":[{"text":"a"}]}])", "input: input has nothing but"},
      {R"("input":"a","tools":[{"type":"function","name":"f","strict":"x"}])", "tools: tools[0].strict must"},
      {R"("input":"a","tools":[5])", "tools: tools[0].type must be"},
      {R"("input":"a","tools":["web_search"])", "tools: tools[0].type must be"},
      {R"("input":"a","tools":5)", "tools: tools must be an array"},
      {R"("input":"a","tool_choice":{"type":"allowed_tools","allowed_tools":["f"]})",
       "tool_choice: tool_choice needs"},
      {R"("input":"a","max_completion_tokens":0)", "max_output_tokens: max_output_tokens must be at least 1"},
      {R"("input":"a","instructions":")" + std::string(1U << 20U, 'x') + "\"", ": instructions, tools"},
      {R"("input":"a","include":"all")", "include: include must be an array"},
      {R"("input":"a","max_output_tokens":"many")",
       "max_output_tokens: max_output_tokens must be an integer"},
      {R"("input":"a","max_output_tokens":0)", "max_output_tokens: max_output_tokens must be at least 1"},
      {R"("input":"a","prompt_logprobs":1)", "prompt_logprobs: prompt_logprobs is for"},
      {R"("input":"a","tools":[{"type":"web_search"}])", "tools: tools[0].type must be \"function\""},
  };
  for (const auto& [members, message] : cases)
    EXPECT_TRUE(refusal(members).starts_with(message)) << members << ": " << refusal(members);
  EXPECT_FALSE(parse_response(json::parse("5"), {"m", 1000, 20, 1}).has_value());
}

TEST(response_request, options_of_a_stream_say_nothing) {
  for (const char* members : {R"("input":"hi","stream_options":{"include_obfuscation":false})",
                              R"("input":"hi","stream":false,"stream_options":{"include_obfuscation":false})",
                              R"("input":"hi","stream":true,"stream_options":{"include_usage":true})"}) {
    const auto parsed = parse(members);
    ASSERT_TRUE(parsed) << members << ": " << parsed.error().message;
    EXPECT_TRUE(parsed->generation.warnings.empty()) << members;
  }
}

TEST(response_request, chats_know_no_max_output_tokens) {
  const auto chat =
      parse_chat(json::parse(R"({"messages":[{"role":"user","content":"a"}],"max_output_tokens":3})"),
                 {"m", 1000, 20, 1});
  EXPECT_FALSE(chat->generation.sampling.max_tokens.has_value());
  EXPECT_EQ(chat->generation.warnings.size(), 1U);
  const auto both = parse(R"("input":"a","max_output_tokens":3,"max_tokens":5)");
  EXPECT_EQ(both->generation.sampling.max_tokens, 3);
  EXPECT_EQ(both->generation.sampling.max_tokens_field, "max_output_tokens");
}

TEST(response_request, members_that_mean_nothing_are_told) {
  EXPECT_EQ(parse(R"("input":"a","frobnicate":1)")->generation.warnings,
            std::vector<std::string>{"frobnicate is not known here, and was ignored"});
  EXPECT_EQ(
      refusal(R"("input":"a","n":1,"background":false,"previous_response_id":null,"conversation":null)"),
      "served");
}

}  // namespace
}  // namespace troupe::openai
