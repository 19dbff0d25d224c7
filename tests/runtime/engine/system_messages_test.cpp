#include "runtime/engine/system_messages.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "runtime/engine/prompt.hpp"
#include "runtime/openai/responses/input_items.hpp"
#include "tests/runtime/tokenizer/tokenizer_fixture.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

// Of tests/data/chat_templates, each by the name of its file.
std::map<std::string, chat_template> styles() {
  std::map<std::string, chat_template> all;
  for (const auto& each :
       std::filesystem::directory_iterator(test::source_path("tests/data/chat_templates"))) {
    std::ifstream file(each.path());
    all.emplace(each.path().stem().string(),
                *chat_template::compile(std::string(std::istreambuf_iterator<char>(file), {})));
  }
  return all;
}

const char* const look_up_tool = R"([{"type":"function","function":{"name":"look_up","parameters":{}}}])";

class system_messages_test : public testing::Test {
 protected:
  // The prompt as text, or why there is none.
  std::string written(const chat_template& chat, const json& messages, const char* tools = "null") const {
    chat_prompt prompt{messages};
    prompt.tools = json::parse(tools);
    generation_request request;
    request.prompt = std::move(prompt);
    const auto ids = build_prompt(request, *tokenizer_, chat, std::nullopt);
    return ids ? tokenizer_->decode(*ids, false) : "failed: " + ids.error().message;
  }
  std::string written(const std::string& source, const json& messages, const char* tools = "null") const {
    return written(*chat_template::compile(source), messages, tools);
  }
  std::map<std::string, chat_template> styles_ = styles();

 private:
  tokenizer_ptr tokenizer_ = test::tiny_tokenizer("gpt-2");
};

json says(const char* role, const char* text) { return {{"role", role}, {"content", text}}; }
const json question = says("user", "Why?");

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST_F(system_messages_test, a_developer_is_written_as_the_system_in_every_style) {
  ASSERT_GE(styles_.size(), 6U);
  for (const auto& [name, chat] : styles_) {
    const json by_system = {says("system", "In French."), question};
    const json by_developer = {says("developer", "In French."), question};
    for (const char* tools : {"null", look_up_tool}) {
      const std::string text = written(chat, by_developer, tools);
      EXPECT_EQ(text, written(chat, by_system, tools)) << name;
      EXPECT_TRUE(has(text, "In French.") && has(text, "Why?") && !has(text, "developer")) << name << text;
      EXPECT_EQ(has(text, "look_up"), tools == look_up_tool) << name << text;
    }
  }
}

TEST_F(system_messages_test, all_that_stand_at_the_beginning_reach_the_model_in_every_style) {
  for (const auto& [name, chat] : styles_) {
    for (const char* second : {"system", "developer"}) {
      for (const char* tools : {"null", look_up_tool}) {
        const std::string text =
            written(chat, {says("system", "Be brief."), says(second, "In French."), question}, tools);
        EXPECT_TRUE(has(text, "Be brief.") && has(text, "In French.") && has(text, "Why?")) << name << text;
        EXPECT_EQ(has(text, "look_up"), tools == look_up_tool) << name << text;
      }
    }
  }
}

TEST_F(system_messages_test, where_one_is_taken_they_are_joined_and_else_are_what_they_were) {
  const json messages = {says("system", "Be brief."), says("developer", "In French."), says("system", ""),
                         question};
  for (const char* name : {"gemma_style", "mistral_style"}) {
    const std::string text = written(styles_.at(name), messages);
    EXPECT_TRUE(has(text, "Be brief.\n\nIn French.\n\nWhy?")) << name << text;
  }
  EXPECT_TRUE(
      written(styles_.at("qwen_3_style"), {messages[0], messages[1], question})
          .starts_with("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>system\nIn French.<|im_end|>\n"
                       "<|im_start|>user\nWhy?"));
}

TEST_F(system_messages_test, one_further_down_stays_there) {
  EXPECT_EQ(written("{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}",
                    {question, says("developer", "In French."), question}),
            "user:Why?;system:In French.;user:Why?;");
  EXPECT_TRUE(has(written(styles_.at("gemma_style"),
                          {question, says("assistant", "So."), says("developer", "In French."), question}),
                  "roles must alternate"));
}

TEST_F(system_messages_test, texts_in_parts_are_joined_like_others) {
  const json parts = json::parse(R"([{"role":"developer","content":[{"type":"text","text":"Be"},
      {"type":"text","text":"brief."}]},{"role":"system","content":[{"type":"text","text":"In French."}]}])");
  EXPECT_TRUE(has(written(styles_.at("gemma_style"), {parts[0], parts[1], question}),
                  "Be\nbrief.\n\nIn French.\n\nWhy?"));
  EXPECT_TRUE(has(written(styles_.at("qwen_3_style"), {parts[0], question}), "system\nBe\nbrief.<|im_end|>"));
}

// As gpt-oss's does.
TEST_F(system_messages_test, a_template_that_knows_developers_has_them) {
  const std::string source =
      "{% set first = messages[0].role in ['developer', 'system'] %}"
      "{% if first %}# {{ messages[0].role }}: {{ messages[0].content }}{% endif %}"
      "{% for m in messages if m.role == 'user' %}|{{ m.content }}{% endfor %}";
  EXPECT_EQ(written(source, {says("developer", "In French."), question}), "# developer: In French.|Why?");
  EXPECT_EQ(written(source, {says("system", "Be brief."), says("developer", "In French."), question}),
            "# system: Be brief.\n\nIn French.|Why?");
  const std::string told = written(source, {says("developer", "In French."), question}, look_up_tool);
  EXPECT_TRUE(told.starts_with("# developer: In French.\n\nYou may call functions") && has(told, "look_up"))
      << told;
}

TEST_F(system_messages_test, a_template_without_a_system_says_so_of_a_developer_too) {
  const std::string source =
      "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
      "{% for m in messages %}{{ m.role }}:{{ m.content }}{% endfor %}";
  EXPECT_EQ(written(source, {says("developer", "In French."), question}), "failed: no system");
  const std::string told = written(source, {says("developer", "In French."), question}, look_up_tool);
  EXPECT_TRUE(told.starts_with("user:In French.\n\nYou may call functions") && told.ends_with("\n\nWhy?"))
      << told;
}

TEST_F(system_messages_test, the_instructions_of_a_response_and_its_items_reach_the_model_in_every_style) {
  for (const char* role : {"system", "developer"}) {
    const json input = {says(role, "In French."), question};
    const auto messages = openai::messages_of_items(input, "Be brief.");
    ASSERT_TRUE(messages);
    for (const auto& [name, chat] : styles_) {
      const std::string text = written(chat, *messages);
      EXPECT_TRUE(has(text, "Be brief.") && has(text, "In French.") && has(text, "Why?")) << name << text;
    }
  }
}

}  // namespace
}  // namespace troupe
