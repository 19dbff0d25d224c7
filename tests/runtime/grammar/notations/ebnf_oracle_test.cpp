// Random grammars written as GBNF and as Lark's form, against a plain reading of what they mean.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/grammar/notations/ebnf.hpp"
#include "tests/runtime/grammar/byte_matcher_fixture.hpp"

namespace troupe::grammar {
namespace {

constexpr std::array letters{"a", "b", "\xC3\xA9"};
constexpr std::size_t longest = 4, num_rules = 3;
using text = std::vector<std::size_t>;    // of letters
using places = std::bitset<longest + 1>;  // of a text, before each letter and after the last

struct node {
  enum class kind { literal, one_of, none_of, sequence, choice, repeat, rule } what = kind::literal;
  text literal = {};             // one_of, none_of: letters
  std::vector<node> parts = {};  // repeat: one
  std::size_t min = 0, rule = 0;
  std::optional<std::size_t> max = {};
};

node random_node(std::mt19937& random, int depth) {
  using kind = node::kind;
  node made;
  made.what = static_cast<kind>(depth > 0 ? random() % 7 : std::array{0, 1, 2, 6}[random() % 4]);
  const auto add = [&](std::size_t count) {
    for (; count > 0; --count) made.parts.push_back(random_node(random, depth - 1));
  };
  switch (made.what) {
    case kind::literal:
    case kind::one_of:
    case kind::none_of:
      for (std::size_t size = 1 + random() % 2; size > 0; --size) made.literal.push_back(random() % 3);
      break;
    case kind::sequence:
    case kind::choice:
      add(2 + random() % 2);
      break;
    case kind::repeat:
      add(1);
      made.min = random() % 3;
      if (random() % 2 == 0) made.max = made.min + random() % 3;
      if (made.max == 0U) made.max = 1;
      break;
    case kind::rule:
      made.rule = random() % num_rules;
      break;
  }
  return made;
}

// ---- what it means

using ends_of_rules = std::array<std::array<places, longest + 1>, num_rules>;  // [rule][begin]

places ends(const node& n, const text& of, std::size_t begin, const ends_of_rules& known) {
  using kind = node::kind;
  places found;
  switch (n.what) {
    case kind::literal: {
      const bool fits = begin + n.literal.size() <= of.size();
      if (fits &&
          std::equal(n.literal.begin(), n.literal.end(), of.begin() + static_cast<std::ptrdiff_t>(begin)))
        found.set(begin + n.literal.size());
      break;
    }
    case kind::one_of:
    case kind::none_of: {
      if (begin == of.size()) break;
      const bool inside = std::ranges::find(n.literal, of[begin]) != n.literal.end();
      if (inside == (n.what == kind::one_of)) found.set(begin + 1);
      break;
    }
    case kind::choice:
      for (const node& part : n.parts) found |= ends(part, of, begin, known);
      break;
    case kind::rule:
      return known[n.rule][begin];
    case kind::sequence:
    case kind::repeat: {
      places now;
      now.set(begin);
      const std::size_t most =
          n.what == kind::sequence ? n.parts.size() : n.max.value_or(n.min + longest + 1);
      const std::size_t least = n.what == kind::sequence ? most : n.min;
      if (least == 0) found = now;
      for (std::size_t times = 1; times <= most; ++times) {
        places next;
        for (std::size_t at = 0; at <= of.size(); ++at)
          if (now[at]) next |= ends(n.parts[n.what == kind::sequence ? times - 1 : 0], of, at, known);
        now = next;
        if (times >= least) found |= now;
      }
      break;
    }
  }
  return found;
}

bool belongs(const std::vector<node>& rules, const text& of) {
  ends_of_rules known{};
  for (bool more = true; more;) {  // until nothing is added: rules may begin with themselves
    more = false;
    for (std::size_t rule = 0; rule < rules.size(); ++rule)
      for (std::size_t begin = 0; begin <= of.size(); ++begin) {
        const places now = ends(rules[rule], of, begin, known);
        more = more || now != known[rule][begin];
        known[rule][begin] = now;
      }
  }
  return known[0][0][of.size()];
}

// ---- how it is written

enum class form { gbnf, lark };

std::string letters_of(const text& of) {
  std::string written;
  for (const std::size_t letter : of) written += letters[letter];
  return written;
}

std::string name_of(std::size_t rule, form as) {
  if (rule == 0) return as == form::gbnf ? "root" : "start";
  return "rule" + std::string(1, static_cast<char>('a' + rule));
}

std::string counted(const node& n, form as) {
  const std::string min = std::to_string(n.min);
  if (n.min == 0 && n.max == 1U) return "?";
  if (!n.max && n.min < 2) return n.min == 0 ? "*" : "+";
  if (as == form::gbnf)
    return "{" + min + (n.max == n.min ? "" : "," + (n.max ? std::to_string(*n.max) : "")) + "}";
  return "~" + min + (n.max == n.min ? "" : ".." + std::to_string(*n.max));
}

std::string written(const node& n, form as) {
  using kind = node::kind;
  const std::string open = as == form::gbnf ? "[" : "/[", close = as == form::gbnf ? "]" : "]/";
  switch (n.what) {
    case kind::literal:
      return "\"" + letters_of(n.literal) + "\"";
    case kind::one_of:
      return open + letters_of(n.literal) + close;
    case kind::none_of:
      return open + "^" + letters_of(n.literal) + close;
    case kind::rule:
      return name_of(n.rule, as);
    case kind::repeat: {
      const std::string body = "(" + written(n.parts[0], as) + ")";
      const std::string blank = n.parts[0].parts.size() % 2 == 1 ? "" : "\t ";  // says nothing
      if (as == form::gbnf || n.max || n.min < 2) return body + blank + counted(n, as);
      return body + blank + "~" + std::to_string(n.min) + " " + body + "*";  // Lark has no open count
    }
    case kind::sequence:
    case kind::choice:
      break;
  }
  std::string all = "(";
  for (const node& part : n.parts)
    all += (all.size() == 1 ? "" : n.what == kind::choice ? " | " : " ") + written(part, as);
  return all + ")";
}

TEST(ebnf_oracle, random_grammars_accept_what_they_mean_in_both_forms) {
  std::vector<text> texts{{}};
  for (std::size_t i = 0; i < texts.size(); ++i)
    for (std::size_t letter = 0; letter < letters.size() && texts[i].size() < longest; ++letter) {
      texts.push_back(texts[i]);
      texts.back().push_back(letter);
    }
  int accepted = 0, rejected = 0, without_text = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::vector<node> rules;
    for (std::size_t i = 0; i < num_rules; ++i) rules.push_back(random_node(random, 3));
    for (const form as : {form::gbnf, form::lark}) {
      std::string source;
      for (std::size_t i = 0; i < num_rules; ++i)
        source += name_of(i, as) + (as == form::gbnf ? " ::= " : ": ") + written(rules[i], as) + "\n";
      auto builder = ebnf_grammar(source, {});
      ASSERT_TRUE(builder.has_value()) << source << builder.error().message;
      const auto grammar = compile(std::move(*builder), byte_token_trie());
      if (!grammar) {  // rules that never come to an end
        for (const text& each : texts) ASSERT_FALSE(belongs(rules, each)) << source << letters_of(each);
        ++without_text;
        continue;
      }
      for (const text& each : texts) {
        const bool expected = belongs(rules, each);
        ASSERT_EQ(test::accepts(*grammar, letters_of(each)), expected)
            << source << "text '" << letters_of(each) << "'";
        ++(expected ? accepted : rejected);
      }
    }
  }
  EXPECT_GT(accepted, 2000);
  EXPECT_GT(rejected, 10'000);
  EXPECT_LT(without_text, 300);
}

}  // namespace
}  // namespace troupe::grammar
