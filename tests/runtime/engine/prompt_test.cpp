#include "runtime/engine/prompt.hpp"
#include "runtime/engine/prompt_reasoning.hpp"
#include "runtime/generation_request.hpp"
#include "runtime/json/exact_number.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "tests/runtime/tokenizer/tokenizer_fixture.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

class prompt_test : public testing::Test {
 protected:
  result<std::vector<token_id>> build(decltype(generation_request::prompt) prompt) const {
    generation_request request;
    request.prompt = std::move(prompt);
    return build_prompt(request, *tokenizer_, chat_, now_);
  }
  result<std::vector<token_id>> chat(const char* messages, bool add_generation_prompt = true) const {
    return build(chat_prompt{json::parse(messages), add_generation_prompt});
  }
  std::string text(const result<std::vector<token_id>>& ids) const {
    return ids ? tokenizer_->decode(*ids, false) : "failed: " + ids.error().message;
  }
  tokenizer_ptr tokenizer_ = test::tiny_tokenizer("gpt-2");
  chat_template chat_ = chat_template::chatml();
  std::optional<std::tm> now_;
};

TEST_F(prompt_test, renders_a_chat_with_special_tokens) {
  const auto ids = chat(R"([{"role": "user", "content": "hi"}])");
  EXPECT_EQ(text(ids), "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(ids->front(), tokenizer_->find("<|im_start|>"));
  EXPECT_EQ(text(chat(R"([{"role": "user", "content": "hi"}])", false)), "<|im_start|>user\nhi<|im_end|>\n");
}

TEST_F(prompt_test, joins_text_parts) {
  EXPECT_EQ(
      text(chat(
          R"([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])",
          false)),
      "<|im_start|>user\na\nb<|im_end|>\n");
}

TEST_F(prompt_test, refuses_messages_that_are_none) {
  for (const char* bad :
       {R"([])", R"({})", R"("x")", R"([1])", R"([{"content": "x"}])", R"([{"role": 1, "content": "x"}])",
        R"([{"role": "user", "content": 1}])", R"([{"role": "user", "content": [{"type": "image_url"}]}])",
        R"([{"role": "user", "content": [{"type": "text"}]}])", R"([{"role": "user", "content": ["x"]}])"}) {
    const auto ids = chat(bad);
    ASSERT_FALSE(ids) << bad;
    EXPECT_EQ(ids.error().code, error_code::invalid_argument) << bad;
    EXPECT_EQ(ids.error().param, "messages") << bad;
  }
}

TEST_F(prompt_test, names_a_kind_of_part_that_it_does_not_take) {
  const auto ids = chat(R"([{"role": "user", "content": [{"type": "image_url"}]}])");
  ASSERT_FALSE(ids);
  EXPECT_NE(ids.error().message.find("'image_url'"), std::string::npos);
}

TEST_F(prompt_test, encodes_text_and_checks_token_ids) {
  EXPECT_EQ(text(build(text_prompt{"and the", true})), "and the");
  EXPECT_EQ(text(build(token_prompt{{3, 4, 5}})), tokenizer_->decode(std::vector<token_id>{3, 4, 5}, false));
  for (const token_id bad : {-1, tokenizer_->vocab_size()}) {
    const auto ids = build(token_prompt{{3, bad}});
    ASSERT_FALSE(ids);
    EXPECT_EQ(ids.error().param, "prompt");
    EXPECT_NE(ids.error().message.find(std::to_string(bad)), std::string::npos);
  }
}

TEST_F(prompt_test, refuses_an_empty_prompt) {
  for (const auto& ids : {build(text_prompt{"", true}), build(token_prompt{})}) {
    ASSERT_FALSE(ids);
    EXPECT_EQ(ids.error().code, error_code::invalid_argument);
    EXPECT_EQ(ids.error().param, "prompt");
  }
}

const char* const a_tool = R"([{"type":"function","function":{"name":"now","parameters":{}}}])";
const char* const a_called_tool =
    R"([{"role":"system","content":"Be brief."},{"role":"user","content":"Now?"},
  {"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function",
    "function":{"name":"now","arguments":"{\"in\": \"UTC\"}"}},{"function":{"name":"now"}}]},
  {"role":"tool","tool_call_id":"a","content":"noon"},{"role":"tool","content":"one"},
  {"role":"user","content":"And?"}])";

TEST_F(prompt_test, writes_tools_out_for_a_template_that_has_none) {
  chat_prompt prompt{json::parse(a_called_tool)};
  prompt.tools = json::parse(a_tool);
  const std::string written = text(build(prompt));
  EXPECT_TRUE(written.starts_with("<|im_start|>system\nBe brief.\n\n")) << written;
  EXPECT_NE(written.find("<tools>\n" + prompt.tools[0].dump() + "\n</tools>\n"), std::string::npos)
      << written;
  EXPECT_TRUE(
      written.ends_with("<|im_end|>\n<|im_start|>user\nNow?<|im_end|>\n<|im_start|>assistant\n"
                        "<tool_call>\n{\"name\": \"now\", \"arguments\": {\"in\":\"UTC\"}}\n</tool_call>\n"
                        "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call><|im_end|>\n"
                        "<|im_start|>user\n<tool_response>\nnoon\n</tool_response>\n"
                        "<tool_response>\none\n</tool_response>\nAnd?<|im_end|>\n<|im_start|>assistant\n"))
      << written;
}

TEST_F(prompt_test, writes_out_whole_numbers_beyond_64_bits_as_they_stand) {
  chat_prompt prompt{json::parse(a_called_tool)};
  prompt.messages[2]["tool_calls"][0]["function"]["arguments"] = {
      {"id", keep_number("12345678901234567890123")}};
  prompt.tools = json::parse(a_tool);
  prompt.tools[0]["function"]["parameters"]["maximum"] = keep_number("123456789012345678901234567890");
  const std::string written = text(build(prompt));
  EXPECT_NE(written.find(R"("parameters":{"maximum":123456789012345678901234567890})"), std::string::npos)
      << written;
  EXPECT_NE(written.find(R"("arguments": {"id":12345678901234567890123}})"), std::string::npos) << written;
}

TEST_F(prompt_test, tools_make_a_system_message_where_there_is_none) {
  chat_prompt prompt{json::parse(R"([{"role":"user","content":"hi"}])")};
  prompt.tools = json::parse(a_tool);
  EXPECT_TRUE(text(build(prompt)).starts_with("<|im_start|>system\nYou may call functions"));
}

TEST_F(prompt_test, tools_are_told_to_the_user_where_a_template_has_no_system) {
  chat_ = *chat_template::compile(
      "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
      "{% for m in messages %}{{ m.role }}:{{ m.content }}{% endfor %}");
  chat_prompt prompt{json::parse(R"([{"role":"user","content":"Now?"}])")};
  prompt.tools = json::parse(a_tool);
  const std::string written = text(build(prompt));
  EXPECT_TRUE(written.starts_with("user:You may call functions")) << written;
  EXPECT_TRUE(written.ends_with("\n\nNow?")) << written;
  EXPECT_EQ(chat(R"([{"role":"system","content":"x"},{"role":"user","content":"hi"}])").error().message,
            "no system");
}

TEST_F(prompt_test, a_call_that_was_cut_off_is_written_as_it_is) {
  const std::string written =
      text(chat(R"([{"role":"user","content":"hi"},{"role":"assistant","content":"So:",
    "tool_calls":[{"function":{"name":"a\"b","arguments":"{\"x\": "}}]}])"));
  EXPECT_NE(written.find("So:\n<tool_call>\n{\"name\": \"a\\\"b\", \"arguments\": {\"x\": }\n</tool_call>"),
            std::string::npos)
      << written;
}

const char* const writes_calls =
    "{% for t in tools %}{{ t.function.name }};{% endfor %}{% for m in messages %}{{ m.role }}:{{ m.content "
    "}}"
    "{% for c in m.tool_calls %}<tool_call>\n{\"name\": \"{{ c.function.name }}\", \"arguments\": "
    "{{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %},{% endfor %}";

TEST_F(prompt_test, a_template_that_writes_calls_gets_tools_and_messages_as_they_are) {
  chat_ = *chat_template::compile(writes_calls);
  chat_prompt prompt{json::parse(a_called_tool)};
  prompt.tools = json::parse(a_tool);
  EXPECT_EQ(
      text(build(prompt)),
      "now;system:Be brief.,user:Now?,"
      "assistant:<tool_call>\n{\"name\": \"now\", \"arguments\": {\"in\": \"UTC\"}}\n</tool_call>"
      "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>,tool:noon,tool:one,user:And?,");
}

TEST_F(prompt_test, a_second_template_is_for_chats_that_offer_tools) {
  chat_ = chat_template::chatml()
              .with_tool_use(*chat_template::compile(std::string("{{ style }}|") + writes_calls))
              .with_arguments({{"style", "brief"}});
  chat_prompt prompt{json::parse(R"([{"role":"developer","content":"a"},{"role":"user","content":"b"}])")};
  EXPECT_EQ(text(build(prompt)),
            "<|im_start|>system\na<|im_end|>\n<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n");
  prompt.tools = json::parse(a_tool);
  EXPECT_EQ(text(build(prompt)), "brief|now;system:a,user:b,");
}

TEST_F(prompt_test, tells_the_template_what_the_request_says_and_else_what_all_are_told) {
  chat_ = chat_template::compile("{{ thinks }},{{ style }},{{ messages[0].content }}")
              ->with_arguments({{"thinks", true}, {"style", "brief"}});
  chat_prompt prompt{json::parse(R"([{"role": "user", "content": "hi"}])")};
  EXPECT_EQ(text(build(prompt)), "True,brief,hi");
  prompt.template_arguments = {{"thinks", false}, {"other", 1}};
  EXPECT_EQ(text(build(prompt)), "False,brief,hi");
}

// message.model_dump() of openai-python has all members: templates ask which a message has.
TEST_F(prompt_test, what_a_client_repeats_of_an_answer_is_written_as_the_answer_whatever_else_is_null) {
  const json said = json::parse(
      R"([{"role":"user","content":"hi"},{"role":"assistant","content":"yo"},{"role":"user","content":"?"}])");
  json dumped = said;
  for (const char* name : {"refusal", "annotations", "audio", "function_call", "tool_calls", "name"})
    dumped[1][name] = nullptr;
  json without_calls = said;
  without_calls[1]["tool_calls"] = json::array();
  const std::filesystem::path templates = test::source_path("tests/data/chat_templates");
  int read = 0;
  for (const auto& each : std::filesystem::directory_iterator(templates)) {
    std::ifstream file(each.path());
    chat_ = *chat_template::compile(std::string(std::istreambuf_iterator<char>(file), {}));
    const auto plain = build(chat_prompt{said});
    ASSERT_TRUE(plain) << each.path() << ": " << plain.error().message;
    EXPECT_EQ(text(build(chat_prompt{dumped})), text(plain)) << each.path();
    EXPECT_EQ(text(build(chat_prompt{without_calls})), text(plain)) << each.path();
    ++read;
  }
  EXPECT_GE(read, 6);
}

TEST_F(prompt_test, a_template_that_tells_the_date_has_it_of_the_time_that_is_given) {
  std::ifstream file(test::source_path("tests/data/chat_templates/llama_3_style.jinja"));
  chat_ = *chat_template::compile(std::string(std::istreambuf_iterator<char>(file), {}));
  const auto has = [this](const char* date) {
    return text(chat(R"([{"role":"user","content":"hi"}])")).find(date) != std::string::npos;
  };
  EXPECT_TRUE(has("Today Date: 26 Jul 2024\n")) << "its own, for whoever knows none";
  now_.emplace();
  now_->tm_year = 125;
  now_->tm_mon = 1;
  now_->tm_mday = 28;
  EXPECT_TRUE(has("Today Date: 28 Feb 2025\n"));
  chat_ = chat_.with_arguments({{"date_string", "today"}});
  EXPECT_TRUE(has("Today Date: today\n"));
}

TEST_F(prompt_test, ends_with_the_last_message_where_that_is_to_go_on) {
  const auto continued = [this](const std::string& said, const char* template_source = nullptr) {
    if (template_source != nullptr) chat_ = *chat_template::compile(template_source);
    chat_prompt prompt;
    prompt.messages = {{{"role", "user"}, {"content", "a b"}}, {{"role", "assistant"}, {"content", said}}};
    prompt.add_generation_prompt = false;
    prompt.continue_final_message = true;
    return build(prompt);
  };
  const std::string before = "<|im_start|>user\na b<|im_end|>\n<|im_start|>assistant\n";
  for (const char* said : {"a", "<", "|", "end", "im_end", "<|im_end", "assistant"})
    EXPECT_EQ(text(continued(said)), before + said) << "whatever else has such words";
  EXPECT_EQ(text(continued(" Sure:\n ")), before + " Sure:\n ") << "with its blanks";
  for (const char* said : {"", " \n"}) {
    const auto ids = continued(said);
    ASSERT_FALSE(ids);
    EXPECT_EQ(ids.error().param, "messages");
  }
  const char* const trims = "{% for m in messages %}[{{ m.content | trim }}]{% endfor %}";
  EXPECT_EQ(text(continued("  Sure: ", trims)), "[a b][Sure:") << "blanks that the template leaves out";
  EXPECT_FALSE(continued("Sure", "{{ messages[0].content }}"));
}

// What a chat's answer begins with, by a template that ends with `end`.
class prompt_reasoning_test : public prompt_test {
 protected:
  reasoning_start reasoning(const std::string& end, chat_prompt prompt = {}) {
    chat_ = *chat_template::compile("{{ messages[-1].content }}{% if false %}</think>{% endif %}" + end);
    if (prompt.messages.is_null()) prompt.messages = {{{"role", "user"}, {"content", "</think> <think>"}}};
    generation_request request;
    request.prompt = std::move(prompt);
    const auto built = build_prompt(request, *tokenizer_, chat_, now_);
    EXPECT_TRUE(built);
    return built ? reasoning_of(request, *built, *tokenizer_, chat_) : reasoning_start::none;
  }
};

TEST_F(prompt_reasoning_test, the_end_of_the_prompt_tells_whether_the_answer_reasons) {
  EXPECT_EQ(reasoning("assistant:"), reasoning_start::possible);
  EXPECT_EQ(reasoning("assistant:<think>\n"), reasoning_start::begun);
  EXPECT_EQ(reasoning("assistant:<think>\n\n</think>\n\n"), reasoning_start::none);
  EXPECT_EQ(reasoning("assistant:", {.add_generation_prompt = false}), reasoning_start::none);
}

TEST_F(prompt_reasoning_test, a_template_without_the_marks_is_of_a_model_that_does_not_unless_it_is_said_to) {
  chat_ = *chat_template::compile("{{ messages[-1].content }}<think>");
  EXPECT_FALSE(chat_.reasons());
  generation_request asked;
  asked.prompt = chat_prompt{{{{"role", "user"}, {"content", "a"}}}};
  const auto prompt = build_prompt(asked, *tokenizer_, chat_, now_);
  ASSERT_TRUE(prompt);
  EXPECT_EQ(reasoning_of(asked, *prompt, *tokenizer_, chat_), reasoning_start::none);
  EXPECT_EQ(reasoning_of(asked, *prompt, *tokenizer_, chat_.with_reasoning(true)), reasoning_start::begun);
  generation_request text;
  text.prompt = text_prompt{"<think>"};
  EXPECT_EQ(reasoning_of(text, *prompt, *tokenizer_, chat_.with_reasoning(true)), reasoning_start::none);
}

TEST_F(prompt_reasoning_test, a_message_that_goes_on_is_gone_on_with_where_it_stopped) {
  const auto going_on = [this](const std::string& said) {
    chat_prompt prompt{{{{"role", "assistant"}, {"content", said}}}, false};
    prompt.continue_final_message = true;
    return reasoning("", std::move(prompt));
  };
  EXPECT_EQ(going_on("<think>\nSo"), reasoning_start::begun);
  EXPECT_EQ(going_on("<think>a</think>So"), reasoning_start::none);
  EXPECT_EQ(going_on("So"), reasoning_start::none);
}

TEST_F(prompt_test, passes_on_what_the_template_refuses) {
  chat_ = *chat_template::compile("{{ raise_exception('No, ' ~ bos_token) }}");
  const auto ids = chat(R"([{"role": "user", "content": "hi"}])");
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().message, "No, <|endoftext|>");
  EXPECT_EQ(ids.error().param, "messages");
}

}  // namespace
}  // namespace troupe
