// That no object of a JSON text gets two members of one name, by its masks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/grammar/matcher.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"
#include "runtime/token_bits.hpp"
#include "tests/runtime/grammar/byte_matcher_fixture.hpp"

namespace troupe::grammar {
namespace {

using words = std::vector<std::string>;

// All bytes, so that everything can be spelled; then tokens with parts of names, and more than one of them.
struct vocabulary {
  explicit vocabulary(const words& more) {
    for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
    texts.insert(texts.end(), more.begin(), more.end());
    std::vector<vocabulary_token> tokens;
    for (const std::string& text : texts) tokens.push_back({text, true, false});
    tokens.push_back({{}, false, true});
    trie = make_token_trie(tokens);
  }
  words texts;
  token_trie_ptr trie;
};

compiled_grammar_ptr schema(std::string text, const token_trie_ptr& trie) {
  auto compiled = compile(schema_spec(std::move(text), {.max_white_space = 0}), trie, {});
  EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().message);
  return compiled.value_or(nullptr);
}

std::vector<std::uint32_t> mask_of(matcher& at) {
  std::vector<std::uint32_t> mask(at.grammar().vocabulary().num_words());
  const auto filled = at.fill_mask(mask);
  EXPECT_TRUE(filled) << (filled ? "" : filled.error().message);
  return mask;
}

using test::accepts;

// All of it must be allowed, byte by byte.
void read(matcher& at, std::string_view text) {
  for (const char c : text) ASSERT_TRUE(at.accept(static_cast<unsigned char>(c))) << text;
}

// {"00":value, ... , "99":value without the end.
std::string hundred_members(std::string_view value) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i) text += fmt::format("{}\"{}{}\":{}", i > 0 ? "," : "", i / 10, i % 10, value);
  return text;
}

TEST(name_filter, makes_words_that_count_or_deny_members_speak_of_members_that_a_reader_sees) {
  const vocabulary of({});
  EXPECT_EQ(accepts(schema(R"({"type":"object","minProperties":2})", of.trie), R"({"a":1,"a":2})"), false);
  EXPECT_EQ(accepts(schema(R"({"type":"object","minProperties":2})", of.trie), R"({"a":1,"b":2})"), true);
  const auto denied = schema(R"({"type":"object","additionalProperties":{"type":["integer","string"]},
                                 "not":{"additionalProperties":{"type":"integer"}}})",
                             of.trie);
  EXPECT_EQ(accepts(denied, R"({"a":"x","a":1})"), false);
  EXPECT_EQ(accepts(denied, R"({"a":"x","b":1})"), true);
  EXPECT_EQ(accepts(schema("true", of.trie), R"([{"a":{"b":1,"b":2}}])"), false);
  EXPECT_EQ(accepts(schema(R"({"type":"object"})", of.trie), R"({"a":1,"\u0061":2})"), false);
}

TEST(name_filter, keeps_names_apart_in_a_fixed_order_too) {
  const vocabulary of({});
  auto spec =
      schema_spec(R"({"type":"object","properties":{"a":true},"minProperties":2})", {.fixed_order = true});
  const auto grammar = compile(spec, of.trie, {});
  ASSERT_TRUE(grammar);
  EXPECT_EQ(accepts(*grammar, R"({"x":1,"x":2})"), false);
  EXPECT_EQ(accepts(*grammar, R"({"x":1,"y":2})"), true);
}

TEST(name_filter, costs_nothing_where_all_names_are_listed) {
  const vocabulary of({});
  EXPECT_FALSE(
      schema(R"({"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false})",
             of.trie)
          ->keeps_names_apart());
  EXPECT_TRUE(schema(R"({"type":"object"})", of.trie)->keeps_names_apart());
}

// Names of three letters out of six are too many to be listed.
constexpr const char* letters = "abcdef";

// What goes on from a text {"abc":1,"ab... without a name twice, by its definition.
class flat_object {
 public:
  bool goes_on(std::string_view text) {
    std::set<std::string> names;
    std::string name;
    bool in_name = false;
    for (const char c : text) {
      if (c == '"') {
        if (in_name && !names.insert(name).second) return false;
        in_name = !in_name;
        name.clear();
      } else if (in_name) {
        name.push_back(c);
      }
    }
    return !in_name || has_another(names, name);
  }

 private:
  static bool has_another(const std::set<std::string>& names, const std::string& begin) {
    if (begin.size() == 3) return !names.contains(begin);
    for (const char* c = letters; *c != 0; ++c)
      if (has_another(names, begin + *c)) return true;
    return false;
  }
};

TEST(name_filter, leaves_exactly_the_tokens_that_some_text_goes_on_with) {
  const vocabulary of({"ab", "abc", "bc\"", "a\"", "\"a", "\"ab", "\"abc\"", "\":null,\"", "null,\"a",
                       "null,\"abc\":", "c\":null,\"ab", ",\"aab\":true,\"aa", "\"abc\":null,\"abc\":null",
                       "aa", "null}", "\":null}"});
  const auto kept = schema(R"({"type":"object","additionalProperties":{"enum":[null,true]},
                               "propertyNames":{"pattern":"^[a-f]{3}$"}})",
                           of.trie);
  // The same names, but nobody keeps them apart: what the rules alone allow.
  const auto rules = compile(
      {.kind = grammar_kind::regex, .text = R"(\{("[a-f]{3}":(null|true)(,"[a-f]{3}":(null|true))*)?\})"},
      of.trie, {});
  ASSERT_TRUE(rules);
  flat_object expected;
  int denied = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    matcher at(kept), free(*rules);
    std::string text;
    for (int step = 0; step < 150; ++step) {
      const auto mask = mask_of(at), allowed = mask_of(free);
      std::vector<token_id> ways, favourites;
      for (std::size_t t = 0; t < of.texts.size(); ++t) {
        const auto token = static_cast<token_id>(t);
        const bool is_right = has_token(allowed, token) && expected.goes_on(text + of.texts[t]);
        ASSERT_EQ(has_token(mask, token), is_right) << text << " + " << of.texts[t] << ", seed " << seed;
        denied += has_token(allowed, token) && !is_right ? 1 : 0;
        if (is_right) ways.push_back(token);
        if (is_right && of.texts[t].find_first_of("}def") == std::string::npos) favourites.push_back(token);
      }
      const auto& from = favourites.empty() ? ways : favourites;
      if (from.empty()) break;
      const token_id next = from[random() % from.size()];
      ASSERT_TRUE(at.accept(next)) << text;
      ASSERT_TRUE(free.accept(next)) << text;
      text += of.texts[static_cast<std::size_t>(next)];
    }
  }
  EXPECT_GT(denied, 1000);
}

TEST(name_filter, refuses_what_its_masks_do_not_have_and_stays_where_it_is) {
  const vocabulary of({"\":1,\"a", "a\""});
  const auto grammar = schema(R"({"type":"object","additionalProperties":{"type":"integer"}})", of.trie);
  matcher at(grammar);
  read(at, "{\"a\":1,\"");
  const std::size_t before = at.num_accepted();
  EXPECT_FALSE(at.accept(257)) << "a\"";
  EXPECT_EQ(at.num_accepted(), before);
  ASSERT_TRUE(at.accept('a'));
  EXPECT_FALSE(at.accept('"'));
  ASSERT_TRUE(at.accept('b'));
  ASSERT_TRUE(at.accept('"'));
  ASSERT_TRUE(at.rollback(2));
  EXPECT_FALSE(at.accept('"')) << "the name a, as before";
  const token_id draft[] = {'b', '"', ':', '2', ',', '"', 'a', '"'};
  EXPECT_EQ(at.count_accepted(draft).value_or(99), 7U);
  matcher other = at.fork();
  ASSERT_TRUE(other.accept('b'));
  EXPECT_FALSE(at.accept('"'));
}

TEST(name_filter, lets_a_member_come_back_that_was_taken_back) {
  const vocabulary of({});
  const auto grammar = schema(R"({"type":"object"})", of.trie);
  matcher at(grammar);
  const std::string_view text = "{\"a\":{\"b\":1},\"c\"";
  for (int round = 0; round < 3; ++round) {
    read(at, text);
    ASSERT_TRUE(at.rollback(text.size()));
  }
}

// Where an object has all names that its schema allows, the only way on is its end.
TEST(name_filter, ends_an_object_that_has_every_name) {
  const vocabulary of({});
  const auto grammar = schema(R"({"type":"object","additionalProperties":{"const":1},
                                 "propertyNames":{"pattern":"^[0-9][0-9]$"}})",
                              of.trie);
  matcher at(grammar);
  read(at, hundred_members("1"));
  const auto mask = mask_of(at);
  EXPECT_TRUE(has_token(mask, '}'));
  EXPECT_FALSE(has_token(mask, ','));
  ASSERT_TRUE(at.rollback(7)) << "\"99\":1 and the comma";
  EXPECT_TRUE(has_token(mask_of(at), ','));
}

// What the mask has and what is taken must be one: a token that was sampled and is refused ends a request.
void expect_masks_as_taken(const std::string& text, const words& tokens, std::uint32_t white_space) {
  const vocabulary of(tokens);
  const auto grammar = compile(schema_spec(text, {.max_white_space = white_space}), of.trie, {});
  ASSERT_TRUE(grammar) << (grammar ? "" : grammar.error().message);
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    matcher at(*grammar);
    std::string so_far;
    for (int step = 0; step < 60; ++step) {
      const auto mask = mask_of(at);
      std::vector<token_id> ways, long_ways;
      for (std::size_t t = 0; t <= of.texts.size(); ++t) {
        const auto token = static_cast<token_id>(t);
        const bool is_taken = at.fork().accept(token).has_value();
        ASSERT_EQ(has_token(mask, token), is_taken)
            << so_far << " + " << (t < of.texts.size() ? of.texts[t] : "the end") << ", seed " << seed;
        if (is_taken && t < of.texts.size()) (t < 256 ? ways : long_ways).push_back(token);
      }
      if (!long_ways.empty() && random() % 8 != 0) ways = long_ways;
      if (ways.empty()) break;
      const token_id next = ways[random() % ways.size()];
      ASSERT_TRUE(at.accept(next)) << so_far;
      so_far += of.texts[static_cast<std::size_t>(next)];
    }
  }
}

const words tricky = {"\"a",  "\"a\"",      "\"a\":",   "\"\\u0061\"", "\\u00",  "61\"",    "\\",
                      "\\\"", ", ",         ",\n\"",    ",\n\"a",      "\"},\"", "\":{\"a", "\"ab",
                      "b\"",  "ab\":1,\"a", "{\"a\":1", "\"b\":",      "1,",     "{\"",     "\":\"\",\"",
                      "a\\",  "\"a\\\"",    "\": [{",   "}, \"",       "null",   "1}"};

TEST(name_filter, has_in_its_masks_what_is_taken_whatever_stands_in_names) {
  expect_masks_as_taken(R"({"type":"object"})", tricky, 2);
  expect_masks_as_taken(R"({"type":"object","additionalProperties":{"type":"object"}})", tricky, 0);
}

TEST(name_filter, has_in_its_masks_what_is_taken_where_names_end_soon) {
  for (const char* names : {R"(^[\"a-c]{3}$)", R"(^[ab\\\\\\n]{1,4}$)", "^[a-z]{1,2}$",
                            "^(aa|ab)?[a-z][a-z]?$", "^.$", "^.?.$"}) {
    expect_masks_as_taken(
        R"({"type":"object","additionalProperties":{"const":1},"propertyNames":{"pattern":")" +
            std::string(names) + "\"}}",
        tricky, 1);
  }
}

// Controls with no letter of their own are written as \u0000 to \u0007, \u000b, \u000e and \u000f.
TEST(name_filter, begins_no_escape_that_leads_only_to_names_that_are_there) {
  const vocabulary of({"\\u000", "\\u00"});
  const auto grammar = schema(R"({"type":"object","additionalProperties":{"const":true},
                                 "propertyNames":{"maxLength":1}})",
                              of.trie);
  matcher at(grammar);
  std::string text = "{";
  for (const char digit : std::string_view("01234567bef"))
    text += std::string(text.size() > 1 ? "," : "") + "\"\\u000" + digit + "\":true";
  text += ",\"";
  read(at, text);
  EXPECT_FALSE(has_token(mask_of(at), 256)) << "\\u000";
  EXPECT_TRUE(has_token(mask_of(at), 257)) << "\\u001f is left";
  read(at, "\\u00");
  EXPECT_FALSE(has_token(mask_of(at), '0'));
  EXPECT_TRUE(has_token(mask_of(at), '1'));
}

TEST(name_filter, says_that_an_object_needs_one_more_name_than_there_are) {
  const vocabulary of({});
  const auto grammar = schema(R"({"type":"object","additionalProperties":{"const":true},"minProperties":101,
                                 "propertyNames":{"pattern":"^[0-9][0-9]$"}})",
                              of.trie);
  matcher at(grammar);
  read(at, hundred_members("true"));
  std::vector<std::uint32_t> mask(of.trie->num_words());
  const auto filled = at.fill_mask(mask);
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().code, error_code::invalid_argument);
  EXPECT_NE(filled.error().message.find("every name"), std::string::npos);
}

TEST(name_filter, goes_on_from_where_it_was_when_the_automaton_was_let_go_of) {
  const vocabulary of(tricky);
  const auto grammar = schema(R"({"type":"object","additionalProperties":{"type":"integer"}})", of.trie);
  matcher at(grammar);
  read(at, "{\"a\":1,\"b\":2,\"");
  const auto before = mask_of(at);
  grammar->let_go();
  EXPECT_EQ(mask_of(at), before);
  std::vector<std::uint32_t> mask(of.trie->num_words());
  while (at.try_mask(mask, 50).value_or(matcher::progress::done) != matcher::progress::done) {
  }
  EXPECT_EQ(mask, before) << "in small pieces";
  ASSERT_TRUE(at.rollback(2));
  ASSERT_TRUE(at.accept('}'));
  ASSERT_TRUE(at.accept(static_cast<token_id>(of.texts.size())));
  EXPECT_TRUE(at.is_terminated());
  ASSERT_TRUE(at.rollback(2));
  ASSERT_TRUE(at.accept(','));
  ASSERT_TRUE(at.accept('"'));
  EXPECT_EQ(mask_of(at), before) << "behind an end that was taken back";
}

TEST(name_filter, forces_no_name_that_is_there) {
  const vocabulary of({});
  const auto grammar = schema(R"({"type":"object","additionalProperties":{"const":true},"minProperties":101,
                                 "propertyNames":{"pattern":"^[0-9][0-9]$"}})",
                              of.trie);
  matcher at(grammar);
  ASSERT_EQ(at.forced_bytes().value_or("?"), "{\"");
  read(at, "{\"12\"");
  EXPECT_EQ(at.forced_bytes().value_or("?"), ":true,\"");
  EXPECT_EQ(at.forced_bytes().value_or("?"), ":true,\"") << "asking changes nothing";
}

// Two thousand members: every look along them is bounded by what they have in common.
TEST(name_filter, spends_steps_where_it_looks_at_much) {
  const vocabulary of({"\"item", "item", "item_", "em_0"});
  const auto grammar = schema(R"({"type":"object","additionalProperties":{"type":"integer"}})", of.trie);
  matcher at(grammar);
  std::string text = "{";
  for (int i = 0; i < 2000; ++i) text += (i > 0 ? ",\"item_" : "\"item_") + std::to_string(i) + "\":1";
  text += ",\"";
  read(at, text);
  const std::uint64_t before = at.steps_left();
  mask_of(at);
  EXPECT_LT(at.steps_left(), before);
  EXPECT_GT(at.steps_left(), before - 20000);
}

}  // namespace
}  // namespace troupe::grammar
