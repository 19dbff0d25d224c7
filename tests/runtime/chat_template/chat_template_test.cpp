// The interpreter against Python's Jinja2 (tests/data/make_chat_templates.py), its limits, and garbage.
#include "runtime/chat_template/chat_template.hpp"
#include "runtime/json/exact_number.hpp"
#include "runtime/json/json.hpp"
#include "tests/support/paths.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <string>

namespace troupe {
namespace {

json read_cases() {
  std::ifstream file(test::source_path("tests/data/chat_templates.json"));
  return json::parse(file, nullptr, false);
}

result<std::string> render(std::string_view source, const json& context, template_limits limits = {}) {
  const auto compiled = chat_template::compile(source, limits);
  if (!compiled) return tl::unexpected(compiled.error());
  return compiled->render(context);
}

std::string failure(std::string_view source, template_limits limits = {}) {
  const auto rendered = render(source, json::object(), limits);
  return rendered ? "rendered: " + rendered->substr(0, 100) : rendered.error().message;
}

TEST(chat_template, renders_what_jinja2_renders) {
  const auto all = read_cases();
  ASSERT_TRUE(all.is_object());
  EXPECT_GT(all.at("cases").size(), 200U);
  for (const auto& one : all.at("cases")) {
    const auto source = all.at("templates").at(one.at("template").get<std::size_t>()).get<std::string>();
    const auto& context = all.at("contexts").at(one.at("context").get<std::size_t>());
    const auto name = one.at("name").get<std::string>();
    const auto rendered = render(source, context);
    if (one.contains("text")) {
      EXPECT_TRUE(rendered) << name << ": " << (rendered ? "" : rendered.error().message);
      EXPECT_EQ(rendered.value_or(""), one.at("text").get<std::string>()) << name;
    } else {
      EXPECT_FALSE(rendered) << name << ": " << rendered.value_or("") << "\ninstead of " << one.at("error");
      // What the template itself says comes out word for word.
      if (!rendered && one.at("refused").get<bool>()) {
        EXPECT_EQ(rendered.error().message, one.at("error").get<std::string>());
        EXPECT_EQ(rendered.error().code, error_code::invalid_argument);
      }
    }
  }
}

TEST(chat_template, is_chatml_where_a_model_has_none) {
  const auto rendered = chat_template::chatml().render(
      json::parse(R"({"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": true})"));
  ASSERT_TRUE(rendered);
  EXPECT_EQ(*rendered, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

TEST(chat_template, names_line_and_column_of_a_mistake) {
  EXPECT_EQ(failure("a\n{{ 1 + }}"), "chat template, line 2, column 8: expected an expression");
  EXPECT_EQ(failure("a\nb {{ 'x' + 1 }}"),
            "chat template, line 2: unsupported operand types for +: 'str' and 'int'");
}

TEST(chat_template, says_which_block_it_does_not_support) {
  const auto compiled = chat_template::compile("{% include 'x' %}");
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, error_code::unsupported);
  EXPECT_NE(compiled.error().message.find("include"), std::string::npos);
}

TEST(chat_template, knows_before_it_is_used_which_filters_and_tests_are_always_reached) {
  for (const char* source : {"{{ 1|frobnicate }}", "{% for x in y %}{{ x is frobnicate }}{% endfor %}",
                             "{{ 2 if 1 else 3 }}{{ x|frobnicate }}"}) {
    const auto compiled = chat_template::compile(source);
    ASSERT_FALSE(compiled) << source;
    EXPECT_EQ(compiled.error().code, error_code::unsupported);
    EXPECT_NE(compiled.error().message.find("'frobnicate'"), std::string::npos);
  }
  EXPECT_EQ(failure("{% if true %}\n{{ 1|frobnicate }}{% endif %}"),
            "chat template, line 2: there is no filter 'frobnicate'");
}

TEST(chat_template, names_the_argument_that_would_be_ignored) {
  EXPECT_EQ(failure("{{ 'a'|trim(side='left') }}"), "chat template, line 1: trim takes no argument 'side'");
  EXPECT_EQ(failure("{{ 'a'.upper(1) }}"), "chat template, line 1: upper() takes 0 arguments at most");
  EXPECT_EQ(failure("{{ 'a'|replace('a', old='b') }}"),
            "chat template, line 1: replace is given 'old' twice");
  EXPECT_EQ(failure("{{ 1 is odd(2) }}"), "chat template, line 1: odd takes 0 arguments at most");
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int time = 0; time < times; ++time) out += text;
  return out;
}

TEST(chat_template, stops_at_the_step_limit) {
  const template_limits limits{.max_steps = 100'000};
  for (const char* source :
       {"{% for a in range(1000000000) %}{% endfor %}",
        "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
        "{% set x = 'aaaaaaaa' * 1000000 %}{% for a in range(9999) %}{% set y = x ~ x %}{% endfor %}",
        "{% set x = 'aaaaaaaa' * 1000000 %}{% for a in range(9999) %}{% set y = x|upper %}{% endfor %}",
        "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{% for a in range(999999) %}{% endfor %}{{ m() }}"}) {
    EXPECT_NE(failure(source, limits).find("too many steps"), std::string::npos)
        << source << ": " << failure(source, limits);
  }
}

// Whatever the step that was the last one, what sorts must not see its order change.
TEST(chat_template, a_sort_ends_well_wherever_its_steps_run_out) {
  for (const char* source :
       {"{{ [[1, 0, 0, 0], [2], [3], [4], [5], [6], [7], [2, 5], [9]]|sort|length }}",
        "{{ {'a': [1, 0, 0, 0], 'b': [2], 'c': [3], 'd': [4], 'e': [5], 'f': [6], 'g': [7], 'h': [2, 5], "
        "'i': [9]}|dictsort(by='value')|length }}",
        "{{ [{'k': [1, 0]}, {'k': [2]}, {'k': [3]}, {'k': [4]}, {'k': [5]}, {'k': [6]}, {'k': [7]}, {'k': "
        "[2, 5]}, {'k': [9]}]|groupby('k')|length }}"}) {
    std::size_t steps = 1;
    while (failure(source, {.max_steps = steps}).find("too many steps") != std::string::npos) ++steps;
    EXPECT_EQ(failure(source, {.max_steps = steps}), "rendered: 9") << source;
    EXPECT_GT(steps, 70U) << source;
  }
}

TEST(chat_template, parts_of_a_text_are_paid_for_before_they_are_made) {
  for (const char* source :
       {"{{ ('a ' * 1000).split()|length }}", "{{ ('a ' * 1000).split(none, 990)|length }}",
        "{{ ('a ' * 1000).rsplit(none, 990)|length }}", "{{ ('a ' * 1000).split(' ')|length }}",
        "{{ ('a ' * 1000).rsplit(' ')|length }}", "{{ ('a\n' * 1000).splitlines()|length }}",
        "{% for c in 'a' * 250 %}{% break %}{% endfor %}"}) {
    EXPECT_NE(failure(source, {.max_steps = 120}).find("too many steps"), std::string::npos) << source;
    EXPECT_TRUE(render(source, json::object(), {.max_steps = 300})) << source;
  }
}

TEST(chat_template, a_text_has_a_first_and_a_last_character_without_a_list_of_them) {
  EXPECT_EQ(failure("{{ ('a' * 1000 ~ 'b')|first }}", {.max_steps = 50}), "rendered: a");
  EXPECT_EQ(failure("{{ ('a' * 1000 ~ 'b')|last }}", {.max_steps = 50}), "rendered: b");
}

// A text of 100,000 bytes costs 391 steps to make, and as many wherever it is gone through.
TEST(chat_template, whatever_goes_through_a_long_text_pays_for_it) {
  for (const char* expression :
       {"[t, 'a']|unique|list", "[{'k': t}]|groupby('k')", "[t]|max", "'%.1s' % t", "t in {'a': 1}",
        "{'a': 1}.get(t)", "{'a': 1}[t]", "d.copy()", "[1]|map('default', *l)", "[1]|select('in', *l)"}) {
    const auto source = std::string("{% set t = 'A' * 100000 %}{{ ") + expression + " }}";
    json context = {{"l", json::array()}, {"d", json::object()}};
    for (int at = 0; at < 10'000; ++at) {
      context["l"].push_back(at);
      if (at < 2'000) context["d"][std::to_string(at)] = at;
    }
    const auto rendered = render(source, context, {.max_steps = 700});
    ASSERT_FALSE(rendered) << source;
    EXPECT_NE(rendered.error().message.find("too many steps"), std::string::npos)
        << source << rendered.error().message;
  }
  EXPECT_NE(failure("{% set t = 'A' * 10000 %}{{ t.startswith((t ~ 'a', t ~ 'b', t ~ 'c', t ~ 'd')) }}",
                    {.max_steps = 500})
                .find("too many steps"),
            std::string::npos);
}

TEST(chat_template, stops_at_the_output_limit) {
  const template_limits limits{.max_output = 1000};
  EXPECT_NE(failure("{{ 'abc' * 400 }}", limits).find("too long"), std::string::npos);
  EXPECT_NE(failure("{% for a in range(200) %}123456{% endfor %}", limits).find("too long"),
            std::string::npos);
  EXPECT_NE(failure("{{ ('a' * 900).replace('a', 'bb') }}", limits).find("too long"), std::string::npos);
  EXPECT_NE(failure("{{ 'a' * 9000000000000000000 }}").find("too long"), std::string::npos);
  EXPECT_EQ(failure("{{ ('a' * 900).replace('b', 'ccc')|length }}", limits), "rendered: 900");
  EXPECT_EQ(failure("{{ ('a' * 900).replace('a', 'bb', 100)|length }}", limits), "rendered: 1000");
}

TEST(chat_template, stops_where_a_list_or_a_padding_gets_too_long) {
  const template_limits limits{.max_output = 10'000};
  for (const char* source :
       {"{{ ([1, 2] * 500)|length }}", "{{ ([1] * 9000000000000000000)|length }}", "{{ 'a'.center(20000) }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(50) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
        "{{ '%1000s' * 2 % ('a', 'b') ~ '%1000s' * 9 % (1, 2, 3, 4, 5, 6, 7, 8, 9) }}",
        "{% filter upper %}{{ 'a' * 9000 }}{{ 'a' * 9000 }}{% endfilter %}"})
    EXPECT_NE(failure(source, limits).find("too long"), std::string::npos)
        << source << failure(source, limits);
  EXPECT_NE(failure("{{ '%9999s' % 'a' }}").find("too large"), std::string::npos);
}

TEST(chat_template, namespaces_and_macros_may_refer_to_each_other_in_circles_and_long_chains) {
  const auto chain =
      "{% set ns = namespace(last=none) %}{% for i in range(100000) %}{% set ns.last = "
      "namespace(before=ns.last) %}"
      "{% endfor %}{{ ns.last.before.before is mapping }}";
  EXPECT_EQ(render(chain, json::object(), {.max_steps = 10'000'000}).value_or("failed"), "False");
  EXPECT_EQ(
      failure("{% set ns = namespace() %}{% set ns.l = [ns, [ns]] %}{% macro m() %}{{ ns.m is callable }}"
              "{% endmacro %}{% set ns.m = m %}{{ ns.m() }}{{ ns.l[1][0].l|length }}"),
      "rendered: True2");
}

TEST(chat_template, stops_at_the_depth_limit) {
  EXPECT_NE(failure("{{ " + repeated("(", 100'000) + repeated(")", 100'000) + " }}").find("too deeply"),
            std::string::npos);
  EXPECT_NE(failure("{{ " + repeated("not ", 100'000) + "x }}").find("too deeply"), std::string::npos);
  EXPECT_NE(failure("{{ " + repeated("-", 100'000) + "1 }}").find("too deeply"), std::string::npos);
  EXPECT_NE(
      failure("{{ x" + repeated("[[", 50'000) + "1" + repeated("]]", 50'000) + " }}").find("too deeply"),
      std::string::npos);
  EXPECT_NE(failure("{{ " + repeated("1 if 1 else ", 50'000) + "2 }}").find("too deeply"), std::string::npos);
  EXPECT_NE(failure(repeated("{% if true %}", 50'000)).find("too deeply"), std::string::npos);
  EXPECT_NE(failure("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("too deeply"), std::string::npos);
  EXPECT_NE(failure("{% macro m() %}{% call m() %}{% endcall %}{{ caller }}{% endmacro %}{{ m() }}")
                .find("too deeply"),
            std::string::npos);
  EXPECT_NE(failure("{% for " + repeated("(", 100'000) + "a" + repeated(")", 100'000) + " in b %}")
                .find("too deeply"),
            std::string::npos);
  EXPECT_NE(
      failure("{% set ns = namespace(x=[]) %}{% for a in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}")
          .find("too deeply"),
      std::string::npos);
}

TEST(chat_template, takes_long_chains_without_depth) {
  const auto long_sum = "{{ 0" + repeated(" + 1", 20'000) + " }}";
  EXPECT_EQ(render(long_sum, json::object()).value_or("failed"), "20000");
  const auto long_filter = "{{ 'a'" + repeated("|trim", 20'000) + " }}";
  EXPECT_EQ(render(long_filter, json::object()).value_or("failed"), "a");
  const auto long_if = "{% if false %}" + repeated("{% elif false %}x", 20'000) + "{% else %}y{% endif %}";
  EXPECT_EQ(render(long_if, json::object()).value_or("failed"), "y");
}

TEST(chat_template, refuses_a_source_beyond_its_limit) {
  EXPECT_FALSE(chat_template::compile(std::string(1001, 'a'), {.max_source = 1000}));
  EXPECT_TRUE(chat_template::compile(std::string(1000, 'a'), {.max_source = 1000}));
}

TEST(chat_template, a_shared_list_does_not_blow_up_in_print) {
  const auto doubling =
      "{% set ns = namespace(x=[1]) %}{% for a in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}";
  EXPECT_NE(failure(std::string(doubling) + "{{ ns.x }}").find("too"), std::string::npos);
  EXPECT_NE(failure(std::string(doubling) + "{{ ns.x|tojson }}").find("too"), std::string::npos);
  EXPECT_NE(failure(std::string(doubling) + "{{ ns.x == ns.x[:] }}").find("too"), std::string::npos);
}

TEST(chat_template, whole_numbers_beyond_64_bits_are_written_as_they_stand) {
  json context = {{"a", 18446744073709551615U}, {"b", keep_number("123456789012345678901234567890")}};
  context["l"] = json::array({keep_number("-9223372036854775809"), keep_number("0.1000000000000000000001")});
  const auto written = [&](std::string_view expression) {
    return render("{{ " + std::string(expression) + " }}", context).value_or("failed");
  };
  EXPECT_EQ(written("a, b, l"),
            "(18446744073709551615, 123456789012345678901234567890, [-9223372036854775809, 0.1])");
  EXPECT_EQ(written("{'m': b, 'l': l}|tojson"),
            R"({"m": 123456789012345678901234567890, "l": [-9223372036854775809, 0.1]})");
  EXPECT_EQ(written("a ~ '', b|string, '%d' % a, b|int, l[0]|abs, 9223372036854775808"),
            "('18446744073709551615', '123456789012345678901234567890', '18446744073709551615', "
            "123456789012345678901234567890, 9223372036854775809, 9223372036854775808)");
  EXPECT_EQ(written("a is integer, a is number, a is float, a and 1"), "(True, True, False, 1)");
  EXPECT_EQ(
      written("a == a, a == b, a < b, l[0] < 1, 1 < a, a == 1, [b, a, 1, l[0]]|sort == [l[0], 1, a, b]"),
      "(True, False, True, True, True, False, True)");
  EXPECT_FALSE(render("{{ a + 1 }}", context));
}

TEST(chat_template, survives_garbage) {
  const auto all = read_cases();
  ASSERT_TRUE(all.is_object());
  std::mt19937 random(7);
  static const std::string pieces[] = {
      "{{",    "}}",     "{%",    "%}", "{#", "#}", "-%}",  "{%-", "if ", "else",       "endif",
      "for ",  "in ",    "set ",  "x",  "(",  ")",  "[",    "]",   "|",   "'",          "\\",
      "macro", "endfor", "range", ".",  ",",  "=",  "raw",  " ",   "\n",  "1",          "~",
      "is ",   "not ",   "loop",  "**", "//", ":",  "trim", "{",   "}",   "99999999999"};
  const auto& templates = all.at("templates");
  const template_limits limits{.max_steps = 20'000, .max_output = 100'000};
  for (int round = 0; round < 4000; ++round) {
    auto source = templates.at(random() % templates.size()).get<std::string>();
    for (int change = 0; change < 3 && !source.empty(); ++change) {
      const auto at = random() % source.size();
      source.replace(at, random() % 8,
                     random() % 4 == 0 ? std::string(1, static_cast<char>(random())) : pieces[random() % 43]);
    }
    const auto& context = all.at("contexts").at(random() % all.at("contexts").size());
    const auto rendered = render(source, context, limits);
    EXPECT_TRUE(rendered || !rendered.error().message.empty());
  }
}

}  // namespace
}  // namespace troupe
