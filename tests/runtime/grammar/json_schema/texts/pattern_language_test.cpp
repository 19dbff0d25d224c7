#include "runtime/grammar/json_schema/texts/pattern_language.hpp"

#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>

namespace troupe::json_schema {
namespace {

using grammar::regex_id;
using grammar::regex_store;

class patterns {
 public:
  result<regex_id> read(const std::string& pattern) {
    return pattern_language(
        store_, pattern,
        {[](regex_store& store, const grammar::code_point_set& set) { return store.code_points(set); },
         store_.any_text(), false});
  }
  bool finds(const std::string& pattern, const std::string& text) {
    const auto r = read(pattern);
    EXPECT_TRUE(r) << pattern << ": " << (r ? "" : r.error().message);
    grammar::step_budget budget(1'000'000);
    return r && store_.matches(*r, text, budget).value();
  }

 private:
  regex_store store_;
};

std::string random_pattern(std::mt19937& random, int depth) {
  const auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  static const char* atoms[] = {"a", "b", "c", ".", "[ab]", "[^a]", "^", "$", "\\d", "\\w", "(?:)", "a"};
  static const char* counts[] = {"", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,3}?"};
  std::string out;
  const unsigned parts = 1 + pick(4);
  for (unsigned i = 0; i < parts; ++i) {
    if (depth > 0 &&
        pick(3) == 0) {  // a repeat of a group is for the cases below: it makes the other engine slow
      out += "(?:" + random_pattern(random, depth - 1) + ")" + (pick(3) == 0 ? "?" : "");
    } else {
      const std::string atom = atoms[pick(12)];
      out += atom;
      if (atom != "^" && atom != "$") out += counts[pick(9)];
    }
    if (depth > 0 && pick(6) == 0) out += "|";
  }
  return out;
}

TEST(PatternLanguage, FindsWhatAnotherEngineFinds) {
  std::mt19937 random(11);
  for (int round = 0; round < 1500; ++round) {
    const std::string pattern = random_pattern(random, 2);
    const std::regex other(pattern, std::regex::ECMAScript);
    patterns own;
    for (int i = 0; i < 6; ++i) {
      std::string text;
      for (auto size = random() % 6; size > 0; --size) text += "abc1"[random() % 4];
      ASSERT_EQ(own.finds(pattern, text), std::regex_search(text, other)) << pattern << " in " << text;
    }
  }
}

TEST(PatternLanguage, AnchorsHoldWithinRepeats) {
  patterns own;
  EXPECT_TRUE(own.finds("^(?:[a-z]+($|/))*$", "ab/c"));
  EXPECT_TRUE(own.finds("^(?:[a-z]+($|/))*$", "ab/c/"));
  EXPECT_FALSE(own.finds("^(?:[a-z]+($|/))*$", "ab//"));
  EXPECT_TRUE(own.finds("(?:^a|b$)+", "xxb"));
  EXPECT_TRUE(own.finds("(?:^a|b$){2}", "ab"));
  EXPECT_FALSE(own.finds("(?:^a|b$){2}", "xab"));
  EXPECT_TRUE(own.finds("(?:^|,)a(?:,|$)", "b,a"));
  EXPECT_FALSE(own.finds("(?:^|,)a(?:,|$)", "b,ab"));
  EXPECT_TRUE(own.finds("^(?:$)*^$", ""));
  EXPECT_FALSE(own.finds("a^", "a"));
  EXPECT_FALSE(own.finds("$a", "a"));
}

TEST(PatternLanguage, LooksAheadInSequencesAndAlternatives) {
  std::mt19937 random(13);
  for (const char* pattern : {"^(?=.*a)(?=.*b)[abc]+$", "^(?!ab)", "^(?!.*cc)", "a(?=b|$)c?",
                              "^(?:(?!a).b|c(?=a))", "(?!a)b(?!c)", "^(?=a|b$)(?!ba)", "(?:(?=ab))?ab1"}) {
    const std::regex other(pattern, std::regex::ECMAScript);
    patterns own;
    for (int i = 0; i < 500; ++i) {
      std::string text;
      for (auto size = random() % 7; size > 0; --size) text += "abc1"[random() % 4];
      ASSERT_EQ(own.finds(pattern, text), std::regex_search(text, other)) << pattern << " in " << text;
    }
  }
}

// std::regex takes every place that is looked ahead from for a beginning, so that it is no oracle here.
TEST(PatternLanguage, LooksAheadForTheBeginning) {
  struct verdict {
    const char* pattern;
    const char* text;
    bool is_found;
  };
  for (const auto& [pattern, text, is_found] :
       {verdict{"(?!^)b", "b", false}, {"(?!^)b", "ab", true},         {"(?!^)", "", false},
        {"(?!^)", "a", true},          {"^(?!^)", "", false},          {"^(?!^)", "a", false},
        {"a?(?!^)b", "b", false},      {"a?(?!^)b", "ab", true},       {"a?(?!^)b", "cb", true},
        {"$(?!^)", "", false},         {"$(?!^)", "a", true},          {"(?:^|a)(?!^)b", "b", false},
        {"(?:^|a)(?!^)b", "ab", true}, {"(?:^|a)(?!^)b", "xab", true}, {"(?!(^|x))a", "a", false},
        {"(?!(^|x))a", "ba", true},    {"(?!(?:^){2})a", "a", false},  {"(?!(?:^){2})a", "ba", true},
        {"(?=^)a", "a", true},         {"(?=^)a", "ba", false},        {"(?:^$)?(?!^)", "", false}}) {
    patterns own;
    EXPECT_EQ(own.finds(pattern, text), is_found) << pattern << " in " << text;
  }
}

TEST(PatternLanguage, KnowsTheEscapesAndClassesOfTheStandard) {
  patterns own;
  EXPECT_TRUE(own.finds("^\\u00e9\\x41\\t\\/$", "éA\t/"));
  EXPECT_TRUE(own.finds("^\\u{1F600}\\ud83d\\ude00$", "😀😀"));
  EXPECT_TRUE(own.finds("^[\\]\\-\\\\]+$", "]-\\"));
  EXPECT_TRUE(own.finds("^[\\w-x]+$", "a-x"));
  EXPECT_TRUE(own.finds("^a{,3}$", "a{,3}"));
  EXPECT_TRUE(own.finds("^.$", "é"));
  EXPECT_FALSE(own.finds("^.$", "\n"));
  EXPECT_TRUE(own.finds("^\\s$", "\u00a0"));
  EXPECT_FALSE(own.finds("\\d", "٣"));
  EXPECT_TRUE(own.finds("^\\p{Lu}\\pL\\P{L}[\\p{Nd}x]$", "Éé-٣"));
  EXPECT_FALSE(own.finds("^\\p{Lu}$", "é"));
  EXPECT_TRUE(own.finds("^\\p{gc=Lu}\\p{General_Category=Lu}$", "AB"));
  EXPECT_FALSE(own.finds("^\\p{gc=Lu}$", "a"));
  EXPECT_TRUE(own.finds("^\\p{Script=Greek}\\P{sc=Greek}[\\p{Emoji}]\\p{scx=Hira}$", "αa😀ー"));
  EXPECT_FALSE(own.finds("^\\p{Script=Hira}$", "ー"));
  EXPECT_FALSE(own.finds("[]", "a"));
  EXPECT_TRUE(own.finds("^(?<year>[0-9]{4})$", "2024"));
}

TEST(PatternLanguage, RefusesByNameWhatHasNoRegularForm) {
  patterns own;
  for (const char* pattern : {"(a)\\1", "\\bword", "(?<=a)b", "a++", "(?>a)", "\\p{NoSuch}", "(?:a(?=b))*"}) {
    const auto read = own.read(pattern);
    ASSERT_FALSE(read) << pattern;
    EXPECT_EQ(read.error().code, error_code::unsupported) << pattern;
  }
  for (const char* pattern : {"(", ")", "[a", "a{2,1}", "*a", "\\", "[b-a]", "(?<n"}) {
    const auto read = own.read(pattern);
    ASSERT_FALSE(read) << pattern;
    EXPECT_EQ(read.error().code, error_code::invalid_argument) << pattern;
  }
}

TEST(PatternLanguage, StopsAtItsLimits) {
  patterns own;
  EXPECT_FALSE(own.read(std::string(60'000, '(') + std::string(60'000, ')')));
  EXPECT_FALSE(own.read(std::string(1'000'000, 'a')));
  EXPECT_FALSE(own.read("a{99999999999999999999}"));
  EXPECT_TRUE(own.finds("(a*)*b", std::string(2000, 'a') + "b"));
}

TEST(PatternLanguage, AQuantifierHasNoQuantifier) {
  patterns own;
  for (const std::string& pattern :
       {std::string("a**"), std::string("a+*"), std::string("a*{2}"), std::string("a{2}{3}"),
        std::string("a?\??"), std::string("(a)??*"), "a" + std::string(60'000, '*')}) {
    const auto read = own.read(pattern);
    ASSERT_FALSE(read) << pattern.substr(0, 10);
    EXPECT_EQ(read.error().code, error_code::invalid_argument) << read.error().message;
  }
  EXPECT_TRUE(own.finds("^a*?b{2}?c??$", "aabbc"));
  EXPECT_TRUE(own.finds("^(?:a*)*b{$", "aab{"));
}

}  // namespace
}  // namespace troupe::json_schema
