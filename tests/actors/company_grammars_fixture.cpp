#include "tests/actors/company_grammars_fixture.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <utility>

#include "runtime/grammar/specification/compile_spec.hpp"
#include "tests/actors/company_fixture.hpp"
#include "tests/support/promise.hpp"

namespace troupe::test {
namespace {

using nlohmann::json;

grammar_spec_ptr spec(grammar_kind kind, std::string text, std::vector<std::string> choices = {}) {
  return std::make_shared<const grammar_spec>(grammar_spec{
      .kind = kind, .text = std::move(text), .choices = std::move(choices), .json = {.max_white_space = 0}});
}

company_grammar expression(const std::string& text) {
  return {spec(grammar_kind::regex, text), [match = std::regex(text)](const std::string& written) {
            return std::regex_match(written, match);
          }};
}

company_grammar one_of(std::vector<std::string> choices) {
  return {spec(grammar_kind::choice, "", choices),
          [choices](const std::string& text) { return std::ranges::find(choices, text) != choices.end(); }};
}

company_grammar schema(const std::string& text, std::function<bool(const json&)> holds) {
  return {spec(grammar_kind::json_schema, text), [holds = std::move(holds)](const std::string& written) {
            const json value = json::parse(written, nullptr, false);
            return !value.is_discarded() && holds(value);
          }};
}

// As many a's on the left as b's on the right.
company_grammar nested() {
  return {spec(grammar_kind::grammar, "root ::= \"a\" root \"b\" | \"c\""), [](const std::string& text) {
            const std::size_t depth = text.size() / 2;
            return text == std::string(depth, 'a') + 'c' + std::string(depth, 'b');
          }};
}

std::string letters_in_groups(std::vector<int> groups, std::size_t most) {
  json parts = {{{"type", "string"}, {"minLength", 1}, {"maxLength", most}}};
  for (const int group : groups) parts.push_back({{"pattern", "^(a{" + std::to_string(group) + "})*$"}});
  return json{{"allOf", parts}}.dump();
}

// To see that there is such a text takes time.
company_grammar hard(int a, int b) {
  company_grammar made = schema(
      letters_in_groups({a, b}, static_cast<std::size_t>(a * b)),
      [a, b](const json& value) { return value == std::string(static_cast<std::size_t>(a * b), 'a'); });
  made.is_hard = true;
  return made;
}

company_grammar refused(grammar_kind kind, const std::string& text, bool is_hard = false) {
  return {spec(kind, text), nullptr, is_hard};
}

std::vector<company_grammar> make_all() {
  using enum grammar_kind;
  std::vector<company_grammar> all{
      expression("[a-z]*"),
      expression("(ab|c){2,6}"),
      expression("[a-e]{0,9}z?"),
      expression("x{3}[0-9]"),
      expression("(begin[a-z]{1,3}middle|zyxwvutsrq)+"),
      expression("[a-m](somewhatlonger)?"),
      one_of({"abc", "zzzz", "q"}),
      nested(),
      schema(R"({"type":"object","properties":{"a":{"type":"integer","minimum":0}},"required":["a"],)"
             R"("additionalProperties":false})",
             [](const json& value) {
               return value.is_object() && value.size() == 1 && value.contains("a") &&
                      value["a"].is_number() && value["a"] >= 0;
             }),
      schema(R"({"type":"array","items":{"enum":["ab","c"]},"minItems":1,"maxItems":4})",
             [](const json& value) {
               return value.is_array() && !value.empty() && value.size() <= 4 &&
                      std::ranges::all_of(value, [](const json& v) { return v == "ab" || v == "c"; });
             }),
      hard(2, 3),
      hard(2, 5),
      hard(3, 5),
      refused(regex, "(a"),
      refused(json_schema, R"({"items":{"$ref":"elsewhere.json"}})"),
      refused(json_schema, letters_in_groups({3, 5}, 14), true),
      refused(json_schema, letters_in_groups({7, 11, 13}, 1001), true),
  };
  const auto vocabulary = grammar::make_token_trie(*byte_vocabulary());
  for (company_grammar& each : all) {
    const auto compiled = grammar::compile(*each.spec, vocabulary, company_grammar_limits);
    require(compiled.has_value() == (each.has != nullptr), "a grammar is not what it was made for");
    if (compiled) each.compiled = *compiled;
  }
  return all;
}

}  // namespace

const std::vector<company_grammar>& company_grammars() {
  static const std::vector<company_grammar> all = make_all();
  return all;
}

const company_grammar& grammar_of(const grammar_spec_ptr& spec) {
  const auto& all = company_grammars();
  return *std::ranges::find(all, spec, &company_grammar::spec);
}

}  // namespace troupe::test
