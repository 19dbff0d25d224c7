// Grammars as text: what they accept, what they refuse, and what is wrong with them.
#include "runtime/grammar/notations/ebnf.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/grammar/byte_matcher_fixture.hpp"

namespace troupe::grammar {
namespace {

using test::accepts;
using test::compiled;

error problem_of_ebnf(std::string_view text, const grammar_limits& limits = {}) {
  auto builder = ebnf_grammar(text, limits);
  if (!builder) return builder.error();
  auto grammar = compile(std::move(*builder), byte_token_trie());
  return grammar ? error{} : grammar.error();
}

TEST(ebnf, gbnf_json_is_json) {
  const auto grammar = compiled(ebnf_grammar(R"(# as llama.cpp's grammars/json.gbnf
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws

object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws

array  ::=
  "[" ws (
            value
    ("," ws value)*
  )? "]" ws

string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws

number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws

# Optional space: by convention, applied in this grammar after literal chars when allowed
ws ::= | " " | "\n" [ \t]{0,20}
)",
                                             {}));
  EXPECT_EQ(accepts(grammar, "{}"), true);
  EXPECT_EQ(accepts(grammar, R"({"a": [1, -2.5e3, {"b": "\u00e9\n"}], "c": null})"), true);
  EXPECT_EQ(accepts(grammar, "{\"a\": \"\xC3\xA9\xE6\xBC\xA2\"}\n\t\t"), true);
  EXPECT_EQ(accepts(grammar, "{\"a\": \"\xC3\"}"), false);
  EXPECT_EQ(accepts(grammar, R"({"a": 01})"), false);
  EXPECT_EQ(accepts(grammar, R"({"a": 1,})"), false);
  EXPECT_EQ(accepts(grammar, R"({"a":  1})"), false);
  EXPECT_EQ(accepts(grammar, R"([1])"), false);
}

// Each rule a level deeper than the one before: as one expression it would be deeper than any may be.
std::string chain_of_rules(std::size_t rules, const std::string& last) {
  std::string text = "root ::= r0\n";
  for (std::size_t i = 0; i + 1 < rules; ++i)
    text += "r" + std::to_string(i) + " ::= (\"a\" r" + std::to_string(i + 1) + " \"z\")?\n";
  return text + "r" + std::to_string(rules - 1) + " ::= " + last + "\n";
}

TEST(ebnf, a_long_chain_of_rules_is_not_one_deep_expression) {
  const auto grammar = compiled(ebnf_grammar(chain_of_rules(1500, "\"b\""), {}));
  EXPECT_EQ(accepts(grammar, ""), true);
  EXPECT_EQ(accepts(grammar, "aaazzz"), true);
  EXPECT_EQ(accepts(grammar, "aaazz"), false);
  EXPECT_EQ(accepts(grammar, std::string(1499, 'a') + "b" + std::string(1499, 'z')), true);
  EXPECT_EQ(accepts(grammar, std::string(1500, 'a') + "b" + std::string(1500, 'z')), false);
}

TEST(ebnf, what_is_too_deep_is_told_with_its_rule) {
  const error terminals = problem_of_ebnf(R"(start: A
A: ("a" B "z")?
B: ("b" C "y")?
C: ("c" D "x")?
D: ("d" E "w")?
E: ("e" "v")?
)",
                                          {.max_regex_depth = 8});
  EXPECT_EQ(terminals.message, "grammar: more than 8 levels in a regular expression, in 'A' of line 2");
  EXPECT_EQ(terminals.param, "max_regex_depth");
}

TEST(ebnf, a_byte_order_mark_is_none_of_the_text) {
  EXPECT_EQ(accepts(compiled(ebnf_grammar("\xEF\xBB\xBFroot ::= \"a\"", {})), "a"), true);
}

TEST(ebnf, gbnf_recursion_on_either_side_and_counts) {
  const auto grammar =
      compiled(ebnf_grammar("root ::= sum | list{2,3} \".\" | .{0,1} \"!\"\nsum ::= sum \"+\" [0-9] | "
                            "[0-9]\nlist ::= \"(\" list? \")\"",
                            {}));
  EXPECT_EQ(accepts(grammar, "1+2+3"), true);
  EXPECT_EQ(accepts(grammar, "1+2+"), false);
  EXPECT_EQ(accepts(grammar, "(())()."), true);
  EXPECT_EQ(accepts(grammar, "(())()()()."), false);
  EXPECT_EQ(accepts(grammar, "()."), false);
  EXPECT_EQ(accepts(grammar, "\xC3\xA9!"), true);
}

TEST(ebnf, lark_reads_terminals_ignores_and_counts) {
  const auto grammar = compiled(ebnf_grammar(R"lark(
// arithmetic, as in Lark's examples
?start: sum
      | NAME "=" sum    -> assign
?sum: product
    | sum "+" product   -> add
?product: atom ("*" atom)*
?atom: NUMBER | "-" atom | NAME | "(" sum ")" | "max"i "[" sum ~ 2..3 "]" | ["a".."c" "!"] "?"
%import common.CNAME -> NAME
%import common.NUMBER
%import common (WS_INLINE, SH_COMMENT)
%ignore WS_INLINE
%ignore SH_COMMENT
)lark",
                                             {}));
  EXPECT_EQ(accepts(grammar, "x = 1 + 2.5e3*-y"), true);
  EXPECT_EQ(accepts(grammar, "  (1+2)  # said"), true);
  EXPECT_EQ(accepts(grammar, "MAX [1 2 x]"), true);
  EXPECT_EQ(accepts(grammar, "max[1]"), false);
  EXPECT_EQ(accepts(grammar, "b!?"), true);
  EXPECT_EQ(accepts(grammar, "?"), true);
  EXPECT_EQ(accepts(grammar, "d!?"), false);
  EXPECT_EQ(accepts(grammar, "1 +"), false);
  EXPECT_EQ(accepts(grammar, ""), false);
}

TEST(ebnf, lark_terminals_are_regular_expressions_and_of_each_other) {
  const auto grammar = compiled(ebnf_grammar(R"lark(start: DATE ("," DATE)* | /a[b\/]c/i | "x" WORDS~2
DATE.2: YEAR "-" /[0-9]{2}/ "-" /[0-9]{2}/
YEAR: /[0-9]/~4
WORDS: ("é" | "z"+)
)lark",
                                             {}));
  EXPECT_EQ(accepts(grammar, "2024-01-02,1999-12-31"), true);
  EXPECT_EQ(accepts(grammar, "2024-01-02 , 1999-12-31"), false);
  EXPECT_EQ(accepts(grammar, "A/C"), true);
  EXPECT_EQ(accepts(grammar, "xzz\xC3\xA9"), true);
  EXPECT_EQ(accepts(grammar, "x\xC3\xA9"), false);
}

// As Lark takes them, also where a list begins in the next line.
TEST(ebnf, any_alternative_of_lark_may_be_empty) {
  for (const std::string_view text :
       {"start: a \"b\"\na: | \"x\" | \"y\"", "start: a \"b\"\na:\n  | \"x\"\n  | \"y\"",
        "start: a \"b\"\na: \"x\" | | \"y\"", "start: a \"b\"\na: \"x\" | \"y\" |",
        "start: (| \"x\" | \"y\") \"b\"", "start: (\n | \"x\"\n | \"y\"\n) \"b\"",
        "start: [| \"x\" | \"y\"] \"b\"", "start: A \"b\"\nA: | \"x\" | \"y\""}) {
    const auto grammar = compiled(ebnf_grammar(text, {}));
    for (const std::string_view each : {"b", "xb", "yb"})
      EXPECT_EQ(accepts(grammar, each), true) << text << each;
    EXPECT_EQ(accepts(grammar, "xyb"), false) << text;
  }
}

// As Lark reads it: GBNF has escapes for more.
TEST(ebnf, a_backslash_of_a_lark_string_that_escapes_nothing_stays) {
  const auto grammar = compiled(ebnf_grammar(R"(start: "a\/b\[\d\"\\" /c\/d/)", {}));
  EXPECT_EQ(accepts(grammar, R"(a\/b\[\d"\c/d)"), true);
  EXPECT_EQ(accepts(grammar, R"(a/b[d"\c/d)"), false);
  EXPECT_EQ(accepts(compiled(ebnf_grammar(R"(root ::= "a\/b\[")", {})), "a/b["), true);
}

TEST(ebnf, the_shape_of_a_tree_may_be_told_twice) {
  for (const std::string_view marks : {"?", "!", "?!", "!?"})
    EXPECT_EQ(accepts(compiled(ebnf_grammar("start: x\n" + std::string(marks) + "x: \"a\"", {})), "a"), true)
        << marks;
  for (const std::string_view marks : {"??", "!!", "! ?", "?!?"})
    EXPECT_EQ(problem_of_ebnf("start: x\n" + std::string(marks) + "x: \"a\"").code,
              error_code::invalid_argument)
        << marks;
}

TEST(ebnf, faults_name_their_line) {
  const auto expect = [](std::string_view text, error_code code, std::string_view part) {
    const error e = problem_of_ebnf(text);
    EXPECT_EQ(e.code, code) << text << ": " << e.message;
    EXPECT_NE(e.message.find(part), std::string::npos) << text << ": " << e.message;
  };
  expect("root ::= x\n\nx ::= y", error_code::invalid_argument, "'y' is not defined, line 3");
  expect("root ::= \"a", error_code::invalid_argument, "line 1");
  expect("root ::= (\"a\"\n", error_code::invalid_argument, "a '(' of line 1 without its ')', line 2");
  expect("root ::= x\nx ::= [a\n\n", error_code::invalid_argument, "a '[' of line 2 without its ']', line 4");
  expect("root ::= \"a\n\n", error_code::invalid_argument, "a '\"' of line 1 without its '\"', line 3");
  expect("root ::= )", error_code::invalid_argument, "(taken for GBNF, as its first rule has a '::=')");
  expect("start: (\"a\"\n", error_code::invalid_argument, "a '(' of line 1 without its ')'");
  expect("root = \"a\"", error_code::invalid_argument,
         "(taken for Lark, as its first rule has no '::=' like GBNF's)");
  expect("root ::= \"a\"\nroot ::= \"b\"", error_code::invalid_argument, "defined twice, line 2");
  expect("main ::= \"a\"", error_code::invalid_argument, "no rule 'root'");
  expect("root ::= [b-a]", error_code::invalid_argument, "greater to less");
  expect("root ::= \"a\"{3,2}", error_code::invalid_argument, "more to less");
  expect("root ::= <think>", error_code::unsupported, "token");
  expect("root ::= root \"a\"", error_code::invalid_argument, "no text");
  expect("root ::= \"a\" )", error_code::invalid_argument, "line 1");
  expect("start: A\nA: b\nb: \"x\" b | \"y\"", error_code::invalid_argument, "'A'");
  expect("start: A\nA: \"x\" A", error_code::invalid_argument, "'A'");
  expect("start: x{y}", error_code::unsupported, "template");
  expect("start: \"a\"\n%declare X", error_code::unsupported, "%declare");
  expect("start: X\n%import python.X", error_code::unsupported, "import");
  expect("start: X\n%import common.NONE", error_code::invalid_argument, "'NONE'");
  expect("start: /(a)\\1/", error_code::unsupported, "line 1");
  expect("start: %json {}", error_code::unsupported, "embedded");
}

TEST(ebnf, a_grammar_past_a_limit_is_refused) {
  const std::string deep = "root ::= " + std::string(60'000, '(') + "\"a\"" + std::string(60'000, ')');
  EXPECT_EQ(problem_of_ebnf(deep).code, error_code::too_large);
  EXPECT_EQ(problem_of_ebnf("start: " + std::string(60'000, '[')).code, error_code::too_large);
  EXPECT_EQ(problem_of_ebnf("root ::= \"" + std::string(1 << 20, 'a') + "\"").code, error_code::too_large);
  EXPECT_EQ(problem_of_ebnf("root ::= \"a\"" + std::string(10'000, '*')).code, error_code::invalid_argument);
  EXPECT_EQ(problem_of_ebnf("root ::= \"a\"{99999999999}").code, error_code::too_large);
  // A long chain of rules is no depth.
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 20'000; ++i)
    chain += "r" + std::to_string(i) + " ::= \"a\" | r" + std::to_string(i + 1) + "\n";
  EXPECT_EQ(problem_of_ebnf(chain + "r20000 ::= \"b\"").code, error_code::internal);  // that is, no problem
}

TEST(ebnf, the_first_rule_says_which_form_it_is) {
  const auto lark = compiled(ebnf_grammar("// not ::= but ':'\nstart: \"a\" | \"::=\"\n", {}));
  EXPECT_EQ(accepts(lark, "::="), true);
  const auto gbnf = compiled(ebnf_grammar("# start: \"a\"\n\nroot-rule ::= \":\"\nroot ::= root-rule\n", {}));
  EXPECT_EQ(accepts(gbnf, ":"), true);
}

}  // namespace
}  // namespace troupe::grammar
