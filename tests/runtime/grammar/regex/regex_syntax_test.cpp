// The syntax of regular expressions: against Python's, and its own edges.
#include "runtime/grammar/regex/regex_syntax.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/paths.hpp"

namespace troupe::grammar {
namespace {

struct found {
  std::optional<bool> matches;
  std::string problem;
};

found match(std::string_view pattern, std::string_view text, const regex_options& options = {}) {
  regex_store store;
  const auto r = parse_regex(store, pattern, options, {});
  if (!r) return {std::nullopt, r.error().message};
  step_budget budget(10'000'000);
  return {store.matches(*r, text, budget), {}};
}

bool is_match(std::string_view pattern, std::string_view text, const regex_options& options = {}) {
  const found f = match(pattern, text, options);
  EXPECT_TRUE(f.matches.has_value()) << pattern << ": " << f.problem;
  return f.matches.value_or(false);
}

std::string problem_of(std::string_view pattern) { return match(pattern, "").problem; }

TEST(regex_syntax, patterns_match_what_python_matches) {
  std::ifstream file(troupe::test::source_path("tests/data/regex_matches.json"));
  const auto entries = nlohmann::json::parse(file);
  ASSERT_GT(entries.size(), 1000U);
  int refused = 0, compared = 0;
  for (const auto& entry : entries) {
    const auto pattern = entry[0].get<std::string>();
    const regex_options options{.anchored = entry[1].get<bool>()};
    regex_store store;
    const auto r = parse_regex(store, pattern, options, {});
    if (!r) {
      EXPECT_EQ(r.error().code, error_code::unsupported) << pattern << ": " << r.error().message;
      ++refused;
      continue;
    }
    for (const bool expected : {true, false})
      for (const auto& text : entry[expected ? 2 : 3]) {
        step_budget budget(10'000'000);
        EXPECT_EQ(store.matches(*r, text.get<std::string>(), budget), expected)
            << pattern << (options.anchored ? " all of '" : " in '") << text.get<std::string>() << "'";
        ++compared;
      }
  }
  EXPECT_GT(compared, 10'000);
  EXPECT_LT(refused, 30);
}

TEST(regex_syntax, classes_may_be_nested_intersected_and_subtracted) {
  EXPECT_TRUE(is_match("[a-z&&[^aeiou]]+", "rhythm"));
  EXPECT_FALSE(is_match("[a-z&&[^aeiou]]+", "rhythms and"));
  EXPECT_FALSE(is_match("[a-z--[aeiou]]", "e"));
  EXPECT_TRUE(is_match("[[:alpha:][:digit:]]{2}", "a1"));
  EXPECT_TRUE(is_match(R"(\p{Greek}+\P{sc=Greek}\p{Emoji}\p{^Han})", "\u03b1\u03c9a\U0001F600b"));
  EXPECT_FALSE(is_match(R"(\p{Script=Han})", "a"));
  EXPECT_TRUE(is_match(R"([\p{Lu}\p{Nd}]+)", "\xC3\x89\xD9\xA3"));  // É, an Arabic three
  EXPECT_FALSE(is_match(R"(\P{L})", "\xC3\x89"));
  EXPECT_TRUE(
      is_match("(?i)stra\xC3\x9F"
               "e|\xC3\xA9",
               "\xC3\x89"));
  EXPECT_TRUE(is_match("(?i)k", "\xE2\x84\xAA"));  // the Kelvin sign
  // Of Turkish alone, and without a capital.
  EXPECT_FALSE(is_match("(?i)i", "\xC4\xB1"));
  EXPECT_FALSE(is_match("(?i)i", "\xC4\xB0"));
  EXPECT_TRUE(is_match("(?i)\xC4\xB1", "\xC4\xB1"));
  EXPECT_TRUE(is_match("(?i)\xEF\xAC\x85", "\xEF\xAC\x86"));
}

// A model that may write the digits of any script sometimes does; whoever reads the text by Unicode's classes
// or by ASCII's finds that it matches.
TEST(regex_syntax, digits_are_those_that_every_reader_takes_for_such) {
  const std::string arabic_three = "\xD9\xA3";
  EXPECT_TRUE(is_match(R"(\d+)", "0123456789"));
  for (const char* some :
       {R"(\d)", R"([\d])", R"([a\d])", R"([^\D])", R"([\w&&\d])", R"([\d--0])", R"((?=\d).)"})
    EXPECT_FALSE(is_match(some, arabic_three)) << some;
  for (const char* none :
       {R"(\D)", R"([\D])", R"([^\d])", R"([\w--\d])", R"([\w--\d&&\w])", R"((?!\d).)", R"((?!\d)\w)"})
    EXPECT_FALSE(is_match(none, arabic_three)) << none;
  EXPECT_TRUE(is_match(R"([\w--\d&&\d]|[\w--[^\d]])", "3")) << "twice denied";
  EXPECT_TRUE(is_match(R"((?!\d)\d|3)", "3"));
  EXPECT_TRUE(is_match(R"([\w--\d--a\d]?\d)", "3")) << "and no more behind it";
  EXPECT_TRUE(is_match(R"(\w)", arabic_three));
}

// What Python's re takes for part of a word, or for white space, and Rust's regex does not, and the reverse.
TEST(regex_syntax, what_no_reader_may_take_for_part_of_a_word_is_none_that_any_does) {
  constexpr std::string_view quarter = "\xC2\xBC", circled_one = "\xE2\x91\xA0", circled_a = "\xE2\x92\xB6",
                             undertie = "\xE2\x80\xBF", devanagari_i = "\xE0\xA5\x80",
                             joiner = "\xE2\x80\x8D", file_separator = "\x1C";
  for (const std::string_view each : {quarter, circled_one, circled_a, undertie, devanagari_i, joiner}) {
    for (const char* denied : {R"(\W)", R"([\W])", R"([^\w])", R"([^a\w])", R"((?!\w).)"})
      EXPECT_FALSE(is_match(denied, each)) << denied << each;
  }
  for (const char* denied : {R"(\S)", R"([\S])", R"([^\s])", R"((?!\s).)", R"([\x00-\x7F--\s])"})
    EXPECT_FALSE(is_match(denied, file_separator)) << denied;
  EXPECT_FALSE(is_match(R"(\s)", file_separator));
  for (const std::string_view each : {quarter, circled_one, circled_a, undertie})
    EXPECT_FALSE(is_match(R"(\w)", each));
  EXPECT_FALSE(is_match(R"([^\W])", circled_one)) << "twice denied";
  for (const std::string_view each : {devanagari_i, joiner})
    EXPECT_TRUE(is_match(R"(a\w)", "a" + std::string(each)));
  for (const std::string_view each : {"-", "\xE2\x82\xAC", " "}) EXPECT_TRUE(is_match(R"(\W)", each));
}

TEST(regex_syntax, a_dot_is_one_character_and_no_part_of_one) {
  EXPECT_TRUE(is_match(".", "\xF0\x9F\x98\x80"));
  EXPECT_FALSE(is_match("..", "\xF0\x9F\x98\x80"));
  EXPECT_FALSE(is_match(".", "\xC3"));
  EXPECT_FALSE(is_match(".", "\n"));
  EXPECT_TRUE(is_match("(?s).", "\n"));
}

TEST(regex_syntax, look_ahead_speaks_of_all_that_follows) {
  EXPECT_TRUE(is_match("(?!foo)(?=.{2,4}$)[a-z]+", "fob"));
  EXPECT_FALSE(is_match("(?!foo)(?=.{2,4}$)[a-z]+", "food"));
  EXPECT_FALSE(is_match("(?!foo)(?=.{2,4}$)[a-z]+", "abcde"));
}

TEST(regex_syntax, what_cannot_be_kept_is_refused_by_name) {
  EXPECT_NE(problem_of(R"((a)\1)").find("back-reference"), std::string::npos);
  EXPECT_NE(problem_of(R"((?P<x>a)\k<x>)").find("back-reference"), std::string::npos);
  EXPECT_NE(problem_of("(?<=a)b").find("look-behind"), std::string::npos);
  for (const char* boundary : {R"(\<a)", R"(a\>)", R"(a\b)"})
    EXPECT_NE(problem_of(boundary).find("a word boundary"), std::string::npos) << boundary;
  EXPECT_TRUE(is_match(R"([\<]a[\>])", "<a>"));
  EXPECT_NE(problem_of("((?!a)b)*").find("look-ahead"), std::string::npos);
  EXPECT_NE(problem_of(R"(\bword\b)").find("word boundary"), std::string::npos);
  EXPECT_NE(problem_of("a++").find("possessive"), std::string::npos);
  EXPECT_NE(problem_of("(?>a)").find("atomic"), std::string::npos);
  EXPECT_NE(problem_of("(?(1)a)").find("condition"), std::string::npos);
  EXPECT_NE(problem_of("(?P<x>a)(?P=x)").find("back-reference"), std::string::npos);
  EXPECT_NE(problem_of("(?R)").find("recursion"), std::string::npos);
  EXPECT_NE(problem_of("(?m)^a").find("flag m"), std::string::npos);
  EXPECT_NE(problem_of(R"(\p{Script=Hand})").find("Script=Hand"), std::string::npos);
  EXPECT_NE(problem_of("(^a)*").find("repeated '^'"), std::string::npos);
}

TEST(regex_syntax, faults_are_errors_with_their_place) {
  for (const std::string_view pattern :
       {"(", ")", "a)", "[a", "[z-a]", "*", "a{3,2}", "\\", "(?P<x", "(?<n", "\\x1", "\\u{110000}", "\\p{L",
        "\\uD800", "[\\d-z]", "\\q", "(?y)", "\\x{}"}) {
    const auto f = match(pattern, "");
    EXPECT_FALSE(f.problem.empty()) << pattern;
    EXPECT_NE(f.problem.find("at character"), std::string::npos) << pattern << ": " << f.problem;
  }
  EXPECT_FALSE(match("\xC3", "").problem.empty());
}

TEST(regex_syntax, a_pattern_past_a_limit_is_refused) {
  const auto code_of = [](const std::string& pattern, const grammar_limits& limits = {}) {
    regex_store store(limits.max_regex_nodes);
    const auto r = parse_regex(store, pattern, {}, limits);
    return r ? std::optional<error_code>() : r.error().code;
  };
  EXPECT_EQ(code_of(std::string(60'000, '(')), error_code::too_large);
  EXPECT_EQ(code_of(std::string(60'000, '[')), error_code::too_large);
  EXPECT_EQ(code_of(std::string(60'000, '(') + std::string(60'000, ')')), error_code::too_large);
  EXPECT_EQ(code_of(std::string((1 << 20) + 1, 'a')), error_code::too_large);
  EXPECT_EQ(code_of(std::string(1 << 20, 'a')), std::nullopt);  // one literal
  EXPECT_EQ(code_of("a{99999999999}"), error_code::too_large);
  std::string optionals;
  for (int i = 0; i < 300'000; ++i) optionals += static_cast<char>('a' + i % 7), optionals += '?';
  EXPECT_EQ(code_of(optionals), error_code::too_large);
  std::string nested = "a";
  for (int i = 0; i < 150; ++i) nested = "(" + nested + "|b)*c";
  EXPECT_EQ(code_of(nested), std::nullopt);
}

TEST(regex_syntax, patterns_that_make_backtracking_explode_match_in_few_steps) {
  for (const std::string_view pattern :
       {"(a*)*b", "(a|aa)+b", "(a|a?)+b", "(.*)(.*)(.*)(.*)b", "(x+x+)+y|a*b"}) {
    regex_store store;
    const auto r = parse_regex(store, pattern, {}, {});
    ASSERT_TRUE(r.has_value());
    step_budget budget(1'000'000);
    EXPECT_EQ(store.matches(*r, std::string(5000, 'a'), budget), false) << pattern;
    EXPECT_EQ(store.matches(*r, std::string(5000, 'a') + "b", budget), true) << pattern;
  }
}

TEST(regex_syntax, a_range_may_end_with_a_hyphen_and_a_nul_is_no_octal_number) {
  for (const char* text : {"+", ",", "-"}) EXPECT_TRUE(is_match("[+--]", text)) << text;
  EXPECT_FALSE(is_match("[+--]", "."));
  EXPECT_FALSE(is_match("[+--,]", ","));
  EXPECT_TRUE(is_match("\\0a", std::string_view("\0a", 2)));
  EXPECT_NE(problem_of("\\012").find("octal"), std::string::npos);
}

}  // namespace
}  // namespace troupe::grammar
