#include "actors/start/load_chat_template.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "runtime/gguf/gguf.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "tests/actors/net/captured_log_fixture.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

std::string writes_calls(const std::string& opening) {
  return "{{ tools | tojson }}{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}" +
         opening +
         "\n{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson "
         "}}}\n</tool_call>"
         "{% endfor %}{% endfor %}";
}

struct loaded_template {
  std::optional<chat_template> chat;
  std::size_t said = 0;    // lines of the log about the second template
  std::size_t warned = 0;  // warnings among them
};

// Of a model with a template of its own and this second one.
loaded_template load_with(const std::string& second, const engine_options& options = {}) {
  const test::temporary_file model(test::tiny_model(
      {.edit = [&](test::gguf_writer& writer) { writer.add("tokenizer.chat_template.tool_use", second); }}));
  const auto file = gguf::file::open(model.path());
  if (!file) return {};
  const auto vocabulary = load_tokenizer(*file);
  const net::testing::captured_log log;
  auto chat = load_chat_template(*file, **vocabulary, options);
  loaded_template out{std::nullopt, log.count("chat_template.tool_use"), log.count("warning ")};
  if (chat) out.chat = std::move(*chat);
  return out;
}

TEST(LoadChatTemplate, TheModelsSecondIsForTools) {
  const std::string second = writes_calls("<tool_call>");
  engine_options options;
  options.template_arguments = {{"style", "brief"}};
  const auto loaded = load_with(second, options);
  ASSERT_TRUE(loaded.chat);
  EXPECT_EQ(loaded.chat->for_tools().source(), second);
  EXPECT_NE(loaded.chat->source(), second);
  EXPECT_EQ(loaded.chat->arguments()["style"], "brief");
  EXPECT_EQ(loaded.said, 1U);
  EXPECT_EQ(loaded.warned, 0U);
}

TEST(LoadChatTemplate, WithoutASecondTheFirstIsForTools) {
  const test::temporary_file model(test::tiny_model());
  const auto file = gguf::file::open(model.path());
  ASSERT_TRUE(file);
  const auto vocabulary = load_tokenizer(*file);
  const net::testing::captured_log log;
  const auto chat = load_chat_template(*file, **vocabulary, {});
  ASSERT_TRUE(chat);
  EXPECT_EQ(chat->for_tools().source(), chat->source());
  EXPECT_TRUE(log.lines().empty());
}

TEST(LoadChatTemplate, ASecondThatWritesCallsInAFormOfItsOwnIsLeftOut) {
  const auto loaded = load_with(writes_calls("Action:"));
  ASSERT_TRUE(loaded.chat);
  EXPECT_EQ(loaded.chat->for_tools().source(), loaded.chat->source());
  EXPECT_EQ(loaded.said, 1U);
  EXPECT_EQ(loaded.warned, 0U);
}

TEST(LoadChatTemplate, ASecondThatIsDamagedIsWarnedOfAndLeftOut) {
  const auto loaded = load_with("{% if %}");
  ASSERT_TRUE(loaded.chat);
  EXPECT_EQ(loaded.chat->for_tools().source(), loaded.chat->source());
  EXPECT_EQ(loaded.said, 1U);
  EXPECT_EQ(loaded.warned, 1U);
}

TEST(LoadChatTemplate, AFileTakesThePlaceOfBoth) {
  const test::temporary_file file("{{ messages[0].content }}");
  engine_options options;
  options.chat_template_path = file.path();
  const auto loaded = load_with(writes_calls("<tool_call>"), options);
  ASSERT_TRUE(loaded.chat);
  EXPECT_EQ(loaded.chat->source(), "{{ messages[0].content }}");
  EXPECT_EQ(loaded.chat->for_tools().source(), loaded.chat->source());
  EXPECT_EQ(loaded.said, 0U);
}

}  // namespace
}  // namespace troupe
