// What /v1/responses is sent, as the messages of a chat.
#include "runtime/openai/responses/input_items.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace troupe::openai {
namespace {

json read(const std::string& input, const json& instructions = nullptr) {
  const auto messages = messages_of_items(json::parse(input), instructions);
  return messages ? *messages : json(messages.error().param + ": " + messages.error().message);
}

TEST(input_items, empty_instructions_are_none) { EXPECT_EQ(read(R"("a")", ""), read(R"("a")")); }

TEST(input_items, a_string_is_what_the_user_says_and_instructions_come_first) {
  EXPECT_EQ(read(R"("hi")"), json::parse(R"([{"role":"user","content":"hi"}])"));
  EXPECT_EQ(read(R"("hi")", "Be brief."),
            json::parse(R"([{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}])"));
}

TEST(input_items, contents_are_strings_or_parts) {
  EXPECT_EQ(read(R"([{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"text","text":"b"}]},
                     {"type":"message","role":"developer","content":"c"},
                     {"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[
                       {"type":"output_text","text":"d","annotations":[],"logprobs":[]},
                       {"type":"refusal","refusal":"e"}]}])"),
            json::parse(R"([{"role":"user","content":"a\nb"},{"role":"developer","content":"c"},
                            {"role":"assistant","content":"d\ne"}])"));
}

constexpr const char* thought =
    R"({"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]})";
constexpr const char* said = R"({"role":"assistant","content":"I look."})";
constexpr const char* called =
    R"({"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}","id":"fc_1"})";
constexpr const char* called_again = R"({"type":"function_call","call_id":"c2","name":"g","arguments":"{}"})";
constexpr const char* returned = R"({"type":"function_call_output","call_id":"c1","output":"5"})";
constexpr const char* asked = R"({"role":"user","content":"and?"})";

std::string list(const std::vector<const char*>& items) {
  std::string text = "[";
  for (const char* item : items) text += (text.size() > 1 ? "," : "") + std::string(item);
  return text + "]";
}

TEST(input_items, what_a_model_did_in_one_go_is_one_message) {
  const std::string calls =
      R"("tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}})";
  const std::string second = R"(,{"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}])";
  const std::string tool = R"({"role":"tool","tool_call_id":"c1","content":"5"})";
  const std::vector<std::pair<std::vector<const char*>, std::string>> cases = {
      {{thought, said, called, called_again, returned},
       R"([{"role":"assistant","content":"I look.","reasoning_content":"hm",)" + calls + second + "}," +
           tool + "]"},
      {{called, returned, said},
       R"([{"role":"assistant","content":null,)" + calls + "]}," + tool + "," + said + "]"},
      {{said, said}, "[" + std::string(said) + "," + said + "]"},
      {{said, called, said, returned},
       R"([{"role":"assistant","content":"I look.\nI look.",)" + calls + "]}," + tool + "]"},
      {{thought, called, thought, called_again},
       R"([{"role":"assistant","content":null,"reasoning_content":"hm\nhm",)" + calls + second + "}]"},
      {{thought, said, thought, said},
       R"([{"role":"assistant","content":"I look.","reasoning_content":"hm"},)"
       R"({"role":"assistant","content":"I look.","reasoning_content":"hm"}])"},
      {{thought, asked, thought}, "[" + std::string(asked) + "]"},
      {{thought, thought, said},
       R"([{"role":"assistant","content":"I look.","reasoning_content":"hm\nhm"}])"},
  };
  for (const auto& [items, messages] : cases) EXPECT_EQ(read(list(items)), json::parse(messages)) << messages;
}

TEST(input_items, reasoning_is_what_was_thought_or_its_summary) {
  const auto of = [](const std::string& members) {
    return read(R"([{"type":"reasoning",)" + members + R"(},{"role":"assistant","content":"a"}])")[0].value(
        "reasoning_content", "none");
  };
  EXPECT_EQ(of(R"("summary":[{"type":"summary_text","text":"s"},{"type":"summary_text","text":"t"}])"),
            "s\nt");
  EXPECT_EQ(of(R"("summary":[{"text":"s"}],"content":[{"text":"c"}])"), "c");
  EXPECT_EQ(of(R"("summary":[],"encrypted_content":"xyz")"), "none");
  EXPECT_EQ(of(R"("summary":5,"content":[7])"), "none");
}

TEST(input_items, outputs_are_strings_or_parts) {
  EXPECT_EQ(
      read(R"([{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"5"}]}])"),
      json::parse(R"([{"role":"tool","tool_call_id":"c","content":"5"}])"));
}

TEST(input_items, what_is_wrong_is_named) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"5", "input must be a string or an array"},
      {"[]", "input must be a string or an array"},
      {"{}", "input must be a string or an array"},
      {R"([5])", "input[0] must be an object"},
      {R"([{"role":"user","content":"a"},{"type":"message"}])", "input[1].role must be"},
      {R"([{"role":"tool","content":"a"}])", "input[0].role must be"},
      {R"([{"content":"a"}])", "input[0].type '' is not served"},
      {list({thought}), "input has nothing but what the model was thinking"},
      {R"([{"role":"user"}])", "input[0].content must be a string or an array"},
      {R"([{"role":"user","content":[{"type":"input_image","image_url":"x"}]}])",
       "input[0].content has a part of the type 'input_image'"},
      {R"([{"role":"user","content":[{"type":"refusal","text":"x"}]}])",
       "input[0].content has a refusal part without a string \"refusal\""},
      {R"([{"type":"web_search_call"}])", "input[0].type 'web_search_call' is not served"},
      {R"([{"type":"item_reference","id":"msg_1"}])", "input[0] refers to an item that is not here"},
      {R"([{"type":"function_call","call_id":"c","name":"f"}])", "input[0].arguments must be a string"},
      {R"([{"type":"function_call_output","output":"a"}])", "input[0].call_id must be a string"},
      {R"([{"type":"function_call_output","call_id":"c"}])", "input[0].output must be a string or an array"},
  };
  for (const auto& [input, message] : cases) {
    const json answer = read(input);
    ASSERT_TRUE(answer.is_string()) << input;
    EXPECT_TRUE(answer.get<std::string>().starts_with("input: " + message)) << input << ": " << answer;
  }
}

}  // namespace
}  // namespace troupe::openai
