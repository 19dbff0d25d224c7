// Work that a short text can ask for many times over: each kind is counted, so that a limit ends it.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "runtime/grammar/character_runs.hpp"
#include "runtime/grammar/regex/regex_grammar.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"
#include "tests/runtime/grammar/byte_matcher_fixture.hpp"

namespace troupe::grammar {
namespace {

// before 0 after, before 1 after, ...
std::string each(int count, const std::string& before, const std::string& after,
                 const std::string& between = ",") {
  std::string all;
  for (int i = 0; i < count; ++i) all += (i == 0 ? "" : between) + before + std::to_string(i) + after;
  return all;
}

std::string times(int count, const std::string& text, const std::string& between) {
  std::string all;
  for (int i = 0; i < count; ++i) all += (i == 0 ? "" : between) + text;
  return all;
}

// The limit that the grammar passes; "" for none.
std::string limit_passed(const grammar_spec& spec, std::uint64_t compile_steps) {
  grammar_limits limits;
  limits.max_compile_steps = compile_steps;
  const auto built = build_grammar(spec, limits);
  return built ? "" : built.error().param;
}

TEST(grammar_counted_work, arrays_are_not_copied_for_nothing) {
  const std::string wide = R"({"a":{"prefixItems":[)" + times(3000, "{}", ",") + "]},";
  const std::string schema = wide + R"("prefixItems":[)" + times(300, R"({"$ref":"#/a"})", ",") + "]}";
  EXPECT_EQ(limit_passed({.kind = grammar_kind::json_schema, .text = schema}, 200'000), "max_compile_steps");
  const std::string one = wide + R"("prefixItems":[{"$ref":"#/a"}]})";
  EXPECT_EQ(limit_passed({.kind = grammar_kind::json_schema, .text = one}, 200'000), "");
}

TEST(grammar_counted_work, names_are_counted_by_their_length) {
  const std::string name(2000, 'b');
  const std::string schema = R"({"properties":{)" + each(100, '"' + name, "\":{}") +
                             R"(},"patternProperties":{"x$":{},"y$":{},"z$":{}}})";
  EXPECT_EQ(limit_passed({.kind = grammar_kind::json_schema, .text = schema}, 60'000), "max_compile_steps");
}

TEST(grammar_counted_work, rules_that_speak_of_all_names_are_counted_for_each) {
  const auto schema = [](int count) {
    return R"({"allOf":[)" +
           each(count, R"({"properties":{"n)", R"(":{}},"additionalProperties":{"type":"null"}})") + "]}";
  };
  EXPECT_EQ(limit_passed({.kind = grammar_kind::json_schema, .text = schema(300)}, 60'000),
            "max_compile_steps");
  EXPECT_EQ(limit_passed({.kind = grammar_kind::json_schema, .text = schema(20)}, 60'000), "");
}

TEST(grammar_counted_work, values_of_an_enum_are_compared_with_what_is_kept) {
  std::string values;
  for (int i = 0; i < 20'000; ++i) values += (i == 0 ? "\"v" : ",\"v") + std::to_string(i % 200) + '"';
  const std::string schema = R"({"uniqueItems":true,"type":"array","items":{"enum":[)" + values + "]}}";
  EXPECT_EQ(limit_passed({.kind = grammar_kind::json_schema, .text = schema}, 40'000), "max_compile_steps");
  EXPECT_EQ(limit_passed({.kind = grammar_kind::json_schema, .text = schema}, 80'000), "");
}

TEST(grammar_counted_work, formats_and_bounds_are_worked_out_once) {
  const std::string formats = R"({"prefixItems":[)" + times(200, R"({"format":"iri"})", ",") + "]}";
  EXPECT_EQ(limit_passed({.kind = grammar_kind::json_schema, .text = formats}, 60'000), "");
  const std::string bounds = R"({"prefixItems":[)" + times(200, R"({"maximum":-1e300})", ",") + "]}";
  EXPECT_EQ(limit_passed({.kind = grammar_kind::json_schema, .text = bounds}, 60'000), "");
  const std::string different = R"({"prefixItems":[)" + each(200, R"({"maximum":-1.)", "e200}") + "]}";
  EXPECT_EQ(limit_passed({.kind = grammar_kind::json_schema, .text = different}, 60'000),
            "max_compile_steps");
}

TEST(grammar_counted_work, rules_of_a_grammar_are_copied_within_its_steps) {
  const std::string chain = "b ::= " + each(300, "[a-c] \"x", "\"", " ") + "\n";
  EXPECT_EQ(
      limit_passed({.kind = grammar_kind::grammar, .text = "root ::= " + times(200, "b", " ") + "\n" + chain},
                   20'000),
      "max_compile_steps");
  EXPECT_EQ(limit_passed({.kind = grammar_kind::grammar, .text = "root ::= b b\n" + chain}, 20'000), "");
  const std::string text = "b ::= \"" + std::string(50'000, 'x') + "\"\n";
  const std::string names = "root ::= " + each(60, "r", "", " | ") + "\n";
  EXPECT_EQ(limit_passed({.kind = grammar_kind::grammar,
                          .text = names + each(60, "r", " ::= b \"y\"", "\n") + "\n" + text},
                         60'000),
            "max_compile_steps");
}

TEST(grammar_counted_work, chains_that_a_derivative_copies_are_counted) {
  std::string chain;
  for (int i = 0; i < 100; ++i) chain += "[a-" + std::string(1, static_cast<char>('b' + i % 20)) + "] ";
  grammar_limits few;
  few.max_mask_steps = 1500;
  const auto grammar =
      compile({.kind = grammar_kind::grammar,
               .text = "root ::= " + each(90, "x{1", "}", " | ") + "\nx ::= " + chain + "\n"},
              byte_token_trie(), few);
  ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
  std::vector<std::uint32_t> mask(9);
  const auto filled = matcher(*grammar).fill_mask(mask);
  ASSERT_FALSE(filled.has_value());
  EXPECT_EQ(filled.error().param, "max_mask_steps");
}

TEST(grammar_counted_work, patterns_that_are_found_anywhere_are_soon_told_from_one_another) {
  grammar_limits few;
  few.max_mask_steps = 1500;
  const std::string schema =
      R"({"patternProperties":{"alpha":{"type":"integer"},"beta":{"type":"string"},)"
      R"("gamma":{"type":"boolean"},"delta":{"type":"null"},"sigma":{"type":"array"}},)"
      R"("additionalProperties":false})";
  const auto grammar = compile({.kind = grammar_kind::json_schema, .text = schema}, byte_token_trie(), few);
  ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
  EXPECT_EQ(test::accepts(*grammar, R"({"the gamma ray":true,"xalphabex":1,"deltalpdelta":null})"), true);
  EXPECT_EQ(test::accepts(*grammar, R"({"alphabeta":1})"), false);
}

TEST(grammar_counted_work, the_members_that_stand_already_are_counted_where_they_are_copied) {
  grammar_limits few;
  few.max_mask_steps = 60'000;
  grammar_builder b(few);
  b.set_start(test::many_members(b));
  const auto grammar = compile(std::move(b), byte_token_trie());
  ASSERT_TRUE(grammar.has_value());
  std::vector<std::uint32_t> mask(9);
  const auto filled = matcher(*grammar).fill_mask(mask);
  ASSERT_FALSE(filled.has_value());
  EXPECT_EQ(filled.error().param, "max_mask_steps");
}

TEST(grammar_counted_work, classes_found_bit_by_bit_are_those_found_at_once) {
  regex_store by_and_by, at_once;
  for (unsigned i = 0; i < 40; ++i) {
    const byte_set set = byte_set::range(3 * i, 255 - 2 * i);
    by_and_by.bytes(set);
    at_once.bytes(set);
    if (i % 7 == 0) by_and_by.literal(std::string(2, static_cast<char>('a' + i)));
    if (i % 7 == 0) at_once.literal(std::string(2, static_cast<char>('a' + i)));
    const auto classes = by_and_by.classes();
    for (unsigned byte = 0; byte < 256; ++byte)
      ASSERT_EQ(classes.of[byte] == classes.of[3 * i],
                byte == 3 * i || (set.contains(static_cast<unsigned char>(byte)) &&
                                  classes.of[byte] == classes.of[3 * i]));
  }
  EXPECT_EQ(by_and_by.classes().of, at_once.classes().of);
  EXPECT_GE(at_once.classes().count(), 40U);
}

TEST(grammar_counted_work, characters_that_lead_to_many_states_are_not_followed) {
  std::array<std::uint8_t, 256> every_byte{};
  for (unsigned byte = 0; byte < 256; ++byte) every_byte[byte] = static_cast<std::uint8_t>(byte);
  const character_classes characters(every_byte);
  std::size_t asked = 0;
  // Each byte past ASCII leads to a state of its own.
  const run_automaton automaton{[&](std::uint32_t from, unsigned char byte) {
                                  ++asked;
                                  return byte < 0x80 ? 1U : from * 256 + byte;
                                },
                                characters, 0, ~0U};
  advance_table known;
  const character_run run = find_run(automaton, 1, 1, known);
  EXPECT_NE(run.groups, 0U);
  EXPECT_EQ(run.groups >> character_groups::past_ascii & 1, 0U);
  EXPECT_LT(asked, 600U);
}

TEST(grammar_counted_work, memory_is_looked_at_within_a_run_of_characters) {
  const std::string word(32, 'a');
  const std::vector<vocabulary_token> tokens{{"a"}, {word}, {"", false, true}};
  const token_trie_ptr vocabulary = make_token_trie(tokens);
  const auto filled_within = [&](std::size_t memory) {
    grammar_limits limits;
    limits.max_memory_bytes = memory;
    grammar_builder b(limits);
    std::string apart;  // bytes of classes of their own: wide rows
    for (char c = 1; c < 'a'; ++c) apart += c;
    regex_store& r = b.regex();
    b.set_start(
        b.choice({b.lexeme(r.repeat(r.bytes(byte_set::range('a', 'z')), 300, 300)), b.literal(apart)}));
    const auto grammar = compile(std::move(b), vocabulary);
    EXPECT_TRUE(grammar.has_value());
    std::vector<std::uint32_t> mask(1);
    const auto filled = matcher(*grammar).fill_mask(mask);
    return std::pair{filled ? "" : filled.error().param, (*grammar)->count().memory_bytes};
  };
  const auto [none, used] = filled_within(64 << 20);
  EXPECT_EQ(none, "");
  EXPECT_EQ(filled_within(used * 3 / 4).first, "max_memory_bytes");
}

}  // namespace
}  // namespace troupe::grammar
