#include "runtime/chat_template/template_traits.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "runtime/chat_template/chat_template.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

template_traits traits(const std::string& source) {
  const auto compiled = chat_template::compile(source);
  EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().message);
  return compiled ? find_traits(*compiled) : template_traits{};
}

template_traits traits_of_style(const std::string& name) {
  std::ifstream file(test::source_path("tests/data/chat_templates/" + name + ".jinja"));
  return traits(std::string(std::istreambuf_iterator<char>(file), {}));
}

// Explains the tools in the right form, and writes what a call is in `written`.
std::string tool_template(const std::string& written, const std::string& offered = "{{ tools | tojson }}") {
  return "{% if tools %}" + offered +
         R"(
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>
{% endif %}{% for m in messages %}{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %})" +
         written + "{% endfor %}{% endfor %}";
}
const std::string name_and_arguments =
    R"({"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}})";
const std::string in_lines = "\n<tool_call>\n" + name_and_arguments + "\n</tool_call>";

TEST(template_traits, calls_are_known_by_how_they_are_written) {
  EXPECT_TRUE(traits_of_style("qwen_3_style").writes_tool_calls);
  EXPECT_TRUE(traits(tool_template(in_lines)).writes_tool_calls);
  EXPECT_TRUE(traits(tool_template("\n<tool_call>\n"
                                   R"({{ '{"name": "' }}{{ c.function.name }}{{ '", "arguments": ' }})"
                                   "{{ c.function.arguments | tojson }}{{ '}' }}\n</tool_call>"))
                  .writes_tool_calls);
}

TEST(template_traits, a_form_of_its_own_is_another_whatever_is_explained) {
  for (const std::string& written :
       {"\n<tool_calls>[" + name_and_arguments + "]</tool_calls>",  // whose explanation has a slip of the pen
        "<tool_call>" + name_and_arguments + "</tool_call>", "\n<tool_call>\n" + name_and_arguments,
        std::string("\n<tool_call>\n") +
            R"({"arguments": {{ c.function.arguments | tojson }}, "name": "{{ c.function.name }}"})" +
            "\n</tool_call>",
        std::string("\n<tool_call>\n") + R"({"name": "{{ c.function.name }}", "arguments": {}})" +
            "\n</tool_call>",
        std::string("\n<tool_call>\n<function={{ c.function.name }}>\n</function>\n</tool_call>"),
        std::string(), std::string("{{ raise_exception('no calls') }}")})
    EXPECT_FALSE(traits(tool_template(written)).writes_tool_calls) << written;
}

TEST(template_traits, who_is_not_told_of_the_tools_cannot_call_them) {
  EXPECT_FALSE(traits(tool_template(in_lines, "You may call tools.")).writes_tool_calls);
  EXPECT_FALSE(traits(tool_template(in_lines, "{{ xml_tools | tojson }}")).writes_tool_calls);
  for (const char* style : {"deepseek_phi_style", "gemma_style", "llama_3_style", "mistral_style", "smollm2"})
    EXPECT_FALSE(traits_of_style(style).writes_tool_calls) << style;
  EXPECT_FALSE(chat_template::chatml().writes_tool_calls());
}

TEST(template_traits, developers_are_known_by_their_name_and_by_what_becomes_of_them) {
  const std::string knows =
      "{% for m in messages %}{% if m.role == 'developer' %}# {{ m.content }}{% endif %}"
      "{% endfor %}";
  EXPECT_TRUE(traits(knows).knows_developers);
  EXPECT_TRUE(
      traits("{% for m in messages if m.role in [\"developer\", \"user\"] %}{{ m.content }}{% endfor %}")
          .knows_developers);
  EXPECT_FALSE(traits("{% for m in messages %}{{ m.role }}:{{ m.content }}{% endfor %}").knows_developers);
  EXPECT_FALSE(
      traits("You help developers. {% for m in messages %}{{ m.content }}{% endfor %}").knows_developers);
  EXPECT_FALSE(
      traits("{% for m in messages if m.role != 'developer' %}{{ m.content }}{% endfor %}").knows_developers);
  EXPECT_FALSE(traits("{% if messages[0].role == 'developer' %}{{ raise_exception('not here') }}{% endif %}")
                   .knows_developers);
  for (const char* style :
       {"deepseek_phi_style", "gemma_style", "llama_3_style", "mistral_style", "qwen_3_style", "smollm2"})
    EXPECT_FALSE(traits_of_style(style).knows_developers) << style;
}

TEST(template_traits, one_system_message_is_taken_where_a_second_is_refused_or_left_out) {
  for (const char* style : {"gemma_style", "mistral_style"})
    EXPECT_TRUE(traits_of_style(style).takes_one_system_message) << style;
  for (const char* style : {"deepseek_phi_style", "llama_3_style", "qwen_3_style", "smollm2"})
    EXPECT_FALSE(traits_of_style(style).takes_one_system_message) << style;
  EXPECT_TRUE(traits("{{ messages[0].content }}{{ messages[-1].content }}").takes_one_system_message);
  EXPECT_TRUE(traits("{% set ns = namespace(told='') %}{% for m in messages if m.role == 'system' %}"
                     "{% set ns.told = m.content %}{% endfor %}{{ ns.told }}")
                  .takes_one_system_message)
      << "the last alone, as DeepSeek-R1's";
}

TEST(template_traits, who_takes_no_system_message_does_not_take_one_of_two) {
  EXPECT_FALSE(traits("{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}")
                   .takes_one_system_message);
  EXPECT_FALSE(traits("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}")
                   .takes_one_system_message);
}

TEST(template_traits, a_template_that_tells_the_date_can_be_asked) {
  EXPECT_TRUE(traits("{{ strftime_now('%d %b %Y %A') }}" + tool_template(in_lines)).writes_tool_calls);
}

}  // namespace
}  // namespace troupe
