// Hostile grammars: what exceeds a limit is an error that names it, at once or when it is met, and never
// more.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/grammar/regex/regex_grammar.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"
#include "tests/runtime/grammar/byte_matcher_fixture.hpp"

namespace troupe::grammar {
namespace {

TEST(grammar_budget, a_builder_past_a_limit_goes_on_and_says_so) {
  grammar_limits few;
  few.max_symbols = 100;
  grammar_builder symbols(few);
  for (int i = 0; i < 1000; ++i) symbols.literal(std::to_string(i) + "x");
  ASSERT_TRUE(symbols.failure().has_value());
  EXPECT_EQ(symbols.failure()->param, "max_symbols");
  symbols.set_start(symbols.literal("a"));
  EXPECT_EQ(compile(std::move(symbols), byte_token_trie()).error().code, error_code::too_large);

  few = {};
  few.max_regex_nodes = 100;
  grammar_builder nodes(few);
  for (int i = 0; i < 1000; ++i) nodes.regex().literal(std::to_string(i) + "x");
  EXPECT_EQ(nodes.failure()->param, "max_regex_nodes");

  few = {};
  few.max_links = 100;
  grammar_builder links(few);
  const symbol_id a = links.literal("a");
  for (int i = 0; i < 100; ++i) links.sequence({a, a, a});
  EXPECT_EQ(links.failure()->param, "max_links");
}

TEST(grammar_budget, expressions_that_nest_without_end_are_refused) {
  regex_store store;
  regex_id r = store.literal("ab");
  for (int i = 0; i < 10'000; ++i)
    r = store.alternation({store.concat({store.star(r), store.literal("c")}), store.complement(r)});
  ASSERT_TRUE(store.failure().has_value());
  EXPECT_EQ(store.failure()->param, "max_regex_depth");
}

TEST(grammar_budget, a_grammar_without_a_text_is_refused) {
  const auto code_of = [](auto&& make) {
    grammar_builder builder;
    make(builder);
    const auto grammar = compile(std::move(builder), byte_token_trie());
    return grammar ? std::optional<error_code>() : grammar.error().code;
  };
  EXPECT_EQ(code_of([](grammar_builder&) {}), error_code::invalid_argument);
  EXPECT_EQ(code_of([](grammar_builder& b) { b.set_start(b.forward()); }), error_code::invalid_argument);
  EXPECT_EQ(code_of([](grammar_builder& b) { b.set_start(b.nothing()); }), error_code::invalid_argument);
  EXPECT_EQ(code_of([](grammar_builder& b) {
              const symbol_id self = b.forward();
              b.define(self, self);
              b.set_start(self);
            }),
            error_code::invalid_argument);
  EXPECT_EQ(code_of([](grammar_builder& b) {
              regex_store& r = b.regex();
              b.set_start(b.lexeme(r.intersection(
                  {r.star(r.literal("aa")), r.concat({r.literal("a"), r.star(r.literal("aa"))})})));
            }),
            error_code::invalid_argument);
  EXPECT_EQ(code_of([](grammar_builder& b) { b.set_start(b.empty()); }), std::nullopt);
}

TEST(grammar_budget, a_search_for_a_text_is_counted) {
  grammar_limits few;
  few.max_compile_steps = 20'000;
  grammar_builder builder(few);
  regex_store& r = builder.regex();
  // Lengths that are multiples of 7, 11, 13 and 17, but not of all: a search through 17,017 lengths.
  std::vector<regex_id> parts{r.complement(r.star(r.literal(std::string(17017, 'a')))),
                              r.plus(r.literal("a"))};
  for (const std::size_t n : {7U, 11U, 13U, 17U}) parts.push_back(r.star(r.literal(std::string(n, 'a'))));
  parts.push_back(r.repeat(r.literal("a"), 1, 17017));
  builder.set_start(builder.lexeme(r.intersection(parts)));
  const auto grammar = compile(std::move(builder), byte_token_trie());
  ASSERT_FALSE(grammar.has_value());
  EXPECT_EQ(grammar.error().param, "max_compile_steps");
}

TEST(grammar_budget, the_ranges_of_a_class_are_counted_wherever_it_stands) {
  grammar_limits few;
  few.max_compile_steps = 200'000;
  const auto times = [](int count, const std::string& text) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  const auto each = [](int count, const std::string& before, const std::string& after) {
    std::string all;
    for (int i = 0; i < count; ++i) all += before + std::to_string(i) + after;
    return all;
  };
  using enum grammar_kind;
  const std::vector<std::pair<grammar_kind, std::string>> hostile{
      {regex, times(2000, "\\p{L}")},
      {regex, "[" + times(2000, "\\p{L}") + "]"},
      {regex, each(2000, "[\\w", "]")},
      {regex, "(?i)" + each(2000, "[ab", "]")},
      {grammar, "start: " + each(2000, "/\\p{L}", "/ | ") + "\"z\""},
      {json_schema,
       R"({"properties":{)" + each(99, R"("p)", R"(":{"pattern":"\\p{L}\\p{N}"},)") + R"("z":{}}})"},
      {structural_tag,
       R"({"type":"structural_tag","format":{"type":"triggered_tags","triggers":["<"],"tags":[)" +
           each(99, R"({"begin":"<)", R"(","content":{"type":"regex","pattern":"\\p{L}\\w"},"end":">"},)") +
           R"({"begin":"<","content":{"type":"regex","pattern":"a"},"end":">"}]}})"},
      {structural_tag, R"({"triggers":["<"],"structures":[{"begin":"<","end":">","schema":{"properties":{)" +
                           each(99, R"("p)", R"(":{"pattern":"\\p{L}\\p{N}"},)") + R"("z":{}}}}]})"},
      {tool_calls, R"({"tools":[{"function":{"name":"f","parameters":{"properties":{)" +
                       each(99, R"("p)", R"(":{"pattern":"\\p{L}\\p{N}"},)") + R"("z":{}}}}}]})"}};
  for (const auto& [kind, text] : hostile) {
    const auto refused = compile({.kind = kind, .text = text}, byte_token_trie(), few);
    EXPECT_TRUE(ran_out_of_steps(refused)) << text.substr(0, 40);
  }
  const auto usual =
      compile({.kind = regex, .text = "(?i)(\\w+ \\w+ \\d\\p{Lu}[\\w.]){9}the quick brown fox"},
              byte_token_trie(), few);
  EXPECT_TRUE(usual.has_value()) << "equal sets cost nothing more";
}

TEST(grammar_budget, a_mask_and_a_token_past_their_steps_are_errors_and_change_nothing) {
  grammar_limits few;
  few.max_mask_steps = 2000;
  // After n letters there are about n * n / 2 ways to stand in this expression.
  auto builder = regex_grammar("(a{0,300}b?){0,300}c", few);
  ASSERT_TRUE(builder.has_value());
  const auto grammar = compile(std::move(*builder), byte_token_trie());
  ASSERT_TRUE(grammar.has_value());
  matcher m(*grammar);
  std::vector<std::uint32_t> mask(9);
  result<void> last{};
  std::size_t steps = 0;
  for (; steps < 1000 && last; ++steps) {
    last = m.fill_mask(mask);
    if (last) last = m.accept('a');
  }
  ASSERT_FALSE(last.has_value());
  EXPECT_EQ(last.error().code, error_code::too_large);
  EXPECT_EQ(last.error().param, "max_mask_steps");
  const std::size_t accepted = m.num_accepted();
  EXPECT_FALSE(m.fill_mask(mask).has_value() && m.accept('a').has_value() && m.fill_mask(mask).has_value() &&
               m.accept('a').has_value() && m.fill_mask(mask).has_value());
  EXPECT_TRUE(m.rollback(accepted / 2).has_value());
  EXPECT_TRUE(m.fill_mask(mask).has_value());
}

TEST(grammar_budget, parts_that_may_all_be_empty_take_no_more_memory_than_there_are_steps) {
  std::string text = "n ::= (\"(\" n \")\")?\nroot ::=";
  for (int i = 0; i < 6000; ++i) text += " n";  // each is followed by every later one
  const auto grammar = compile({.kind = grammar_kind::grammar, .text = text}, byte_token_trie(), {});
  ASSERT_TRUE(grammar.has_value());
  std::vector<std::uint32_t> mask(9);
  const auto filled = matcher(*grammar).fill_mask(mask);
  ASSERT_FALSE(filled.has_value());
  EXPECT_EQ(filled.error().param, "max_mask_steps");
  EXPECT_LT((*grammar)->memory_bytes(), (*grammar)->limits().max_memory_bytes);
}

TEST(grammar_budget, rules_that_double_each_other_are_refused_before_they_fill_the_memory) {
  const auto doubled = [](const std::string& root, int levels) {
    std::string text = "root ::= " + root + "\n";
    for (int i = 0; i < levels; ++i) {
      const std::string next = " r" + std::to_string(i + 1);
      text += "r" + std::to_string(i) + " ::=" + next + next + "\n";
    }
    return text + "r" + std::to_string(levels) + " ::= \"a\"\n";
  };
  std::string alternatives = "r0", chain = "root ::= r0\n";
  for (int i = 0; i < 100; ++i) alternatives += " | r0";
  for (int i = 0; i < 3000; ++i)
    chain +=
        "r" + std::to_string(i) + " ::= \"" + std::to_string(i) + "a\" | r" + std::to_string(i + 1) + "\n";
  for (const std::string& text :
       {doubled("r0", 25), doubled(alternatives, 19), chain + "r3000 ::= \"b\"\n"}) {
    const auto read = build_grammar({.kind = grammar_kind::grammar, .text = text}, {});
    ASSERT_FALSE(read.has_value()) << text.substr(0, 40);
    EXPECT_EQ(read.error().param, "max_regex_nodes") << text.substr(0, 40);
  }
}

TEST(grammar_budget, what_sets_are_made_of_is_counted) {
  grammar_limits few;
  few.max_mask_steps = 20'000;
  // After n letters n repeats of y may have begun, each where a set of up to n counts goes on.
  const auto grammar = compile(
      {.kind = grammar_kind::grammar, .text = "root ::= (y{0,3000}){0,3000}\ny ::= \"x\" | \"(\" y \")\"\n"},
      byte_token_trie(), few);
  ASSERT_TRUE(grammar.has_value());
  matcher m(*grammar);
  result<void> last{};
  while (last && m.num_accepted() < 600) last = m.accept('x');
  ASSERT_FALSE(last.has_value());
  EXPECT_EQ(last.error().param, "max_mask_steps");
}

TEST(grammar_budget, what_is_copied_to_combine_schemas_is_counted) {
  grammar_limits few;
  few.max_compile_steps = 2'000'000;
  const auto times = [](int count, const std::string& before, const std::string& after) {
    std::string all;
    for (int i = 0; i < count; ++i) all += (i == 0 ? "" : ",") + before + std::to_string(i) + after;
    return all;
  };
  for (const std::string& text : {R"({"allOf":[)" + times(2000, R"({"required":["a)", R"("]})") + "]}",
                                  R"({"not":{"prefixItems":[)" + times(3000, R"({"const":)", "}") + "]}}"}) {
    const auto read = build_grammar({.kind = grammar_kind::json_schema, .text = text}, few);
    ASSERT_FALSE(read.has_value()) << text.substr(0, 40);
    EXPECT_EQ(read.error().param, "max_compile_steps") << text.substr(0, 40);
  }
}

TEST(grammar_budget, a_schema_with_too_many_expressions_is_told_of_them) {
  std::string choices;
  for (int i = 0; i < 600; ++i)
    choices += (i == 0 ? "" : ",") + (R"({"pattern":"^x)" + std::to_string(i) + R"($"})");
  const auto read =
      build_grammar({.kind = grammar_kind::json_schema, .text = R"({"oneOf":[)" + choices + "]}"}, {});
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().param, "max_regex_nodes") << read.error().message;
}

TEST(grammar_budget, steps_and_memory_grow_with_a_schema_not_with_its_square) {
  grammar_limits few;
  few.max_compile_steps = 1'000'000;
  few.max_memory_bytes = 8U << 20U;
  std::string members, choices;
  for (int i = 0; i < 4000; ++i) {
    const std::string comma = i == 0 ? "" : ",";
    members += comma + "\"p" + std::to_string(i) + R"(":{"type":"object"})";
    choices += comma + R"({"const":"a)" + std::to_string(i) + R"("})";
  }
  for (const auto& [schema, text] : {std::pair{R"({"properties":{)" + members + "}}", R"({"p7":{}})"},
                                     std::pair{R"({"anyOf":[)" + choices + "]}", R"("a77")"}}) {
    const auto grammar = compile({.kind = grammar_kind::json_schema, .text = schema}, byte_token_trie(), few);
    ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
    EXPECT_EQ(test::accepts(*grammar, text), true) << text;
  }
}

TEST(grammar_budget, a_full_memory_is_given_back_and_what_was_read_is_read_again) {
  grammar_limits few;
  few.max_memory_bytes = 1 << 20;
  few.max_mask_steps = 1'000'000'000;
  auto builder = regex_grammar("(?s).*a.{12}", few);
  ASSERT_TRUE(builder.has_value());
  const auto grammar = compile(std::move(*builder), byte_token_trie());
  ASSERT_TRUE(grammar.has_value());
  const auto roomy_builder = regex_grammar("(?s).*a.{12}", {.max_mask_steps = 1'000'000'000});
  const auto roomy = compile(grammar_builder(*roomy_builder), byte_token_trie());
  // Each text leads to states of its own: 2^13 in all. One matcher stays while the memory is given back many
  // times.
  matcher long_lived(*grammar), reference(*roomy);
  std::vector<std::uint32_t> mask(9), expected(9);
  std::uint32_t random = 1;
  for (int i = 0; i < 3000; ++i) {
    random = random * 1664525 + 1013904223;
    if (i % 100 == 0) {
      ASSERT_TRUE(long_lived.rollback(long_lived.num_accepted()).has_value());
      ASSERT_TRUE(reference.rollback(reference.num_accepted()).has_value());
    }
    const token_id token = random >> 31 ? 'a' : 'b';
    ASSERT_TRUE(long_lived.accept(token).has_value());
    ASSERT_TRUE(reference.accept(token).has_value());
    const auto filled = long_lived.fill_mask(mask);
    ASSERT_TRUE(filled.has_value()) << filled.error().message;
    ASSERT_TRUE(reference.fill_mask(expected).has_value());
    ASSERT_EQ(mask, expected) << i;
    ASSERT_LT((*grammar)->memory_bytes(), few.max_memory_bytes * 2);
  }
}

TEST(grammar_budget, a_long_text_may_hold_most_of_the_memory_and_is_seldom_read_again) {
  grammar_limits few;
  few.max_memory_bytes = 1 << 20;
  few.max_mask_steps = 5'000;
  const auto grammar = compile(*regex_grammar("[a-z]{0,100000}", few), byte_token_trie());
  ASSERT_TRUE(grammar.has_value());
  matcher m(*grammar);
  std::vector<std::uint32_t> mask(9);
  const auto generation = [&] {
    std::uint64_t steps = 0;
    return (*grammar)->use(steps).generation();
  };
  const std::uint64_t first = generation();
  // Each letter leads to states of its own.
  std::size_t letters = 0;
  for (; (*grammar)->memory_bytes() < few.max_memory_bytes * 9 / 10; ++letters) {
    const auto filled = m.fill_mask(mask);
    ASSERT_TRUE(filled.has_value()) << letters << ": " << filled.error().message;
    ASSERT_TRUE(m.accept('a' + static_cast<token_id>(letters % 26)).has_value()) << letters;
  }
  EXPECT_GT(letters, 1000U);
  EXPECT_LE(generation() - first, 8U) << "half of what is left lasts for each";
  (*grammar)->let_go();
  EXPECT_TRUE(m.fill_mask(mask).has_value()) << "though it takes more than one mask may";
}

TEST(grammar_budget, texts_that_fill_the_memory_together_go_on_alone) {
  grammar_limits few;
  few.max_memory_bytes = 1 << 20;
  const auto grammar =
      compile(*regex_grammar("[a-m][a-z]{0,100000}|[n-z][a-z]{0,90000}", few), byte_token_trie());
  ASSERT_TRUE(grammar.has_value());
  std::vector<std::uint32_t> mask(9);
  // So far that one alone has room, with states of which the other has none.
  std::vector<matcher> both{matcher(*grammar), matcher(*grammar)};
  ASSERT_TRUE(both[0].accept('a').has_value() && both[1].accept('z').has_value());
  while ((*grammar)->memory_bytes() < few.max_memory_bytes * 7 / 10)
    ASSERT_TRUE(both[0].fill_mask(mask).has_value() && both[0].accept('a').has_value());
  while (both[1].num_accepted() < both[0].num_accepted()) {
    const auto filled = both[1].fill_mask(mask);
    ASSERT_TRUE(filled.has_value()) << both[1].num_accepted() << ": " << filled.error().message;
    ASSERT_TRUE(both[1].accept('z').has_value()) << both[1].num_accepted();
    ASSERT_TRUE(both[0].fill_mask(mask).has_value()) << both[1].num_accepted();
  }
}

TEST(grammar_budget, reading_all_tokens_again_is_one_budget) {
  grammar_limits limits;
  limits.max_mask_steps = 3000;
  limits.mask_steps_per_token = 3000;
  const auto grammar = compile(*regex_grammar("(?s).*a.{200}", limits), byte_token_trie());
  ASSERT_TRUE(grammar.has_value());
  matcher m(*grammar);
  std::uint32_t random = 1;
  std::vector<std::uint32_t> mask(9);
  // Each token's states cost a part of the budget; all of them cost more than one.
  for (int i = 0; i < 400; ++i) {
    random = random * 1664525 + 1013904223;
    ASSERT_TRUE(m.accept(random >> 31 ? 'a' : 'b').has_value()) << i;
  }
  (*grammar)->let_go();
  const auto filled = m.fill_mask(mask);
  ASSERT_FALSE(filled.has_value());
  EXPECT_EQ(filled.error().code, error_code::too_large);
  EXPECT_TRUE(m.is_text_to_blame());
  EXPECT_EQ(m.num_accepted(), 400U);
  ASSERT_TRUE(m.rollback(390).has_value());
  EXPECT_TRUE(m.fill_mask(mask).has_value()) << "ten tokens are within it";
}

TEST(grammar_budget, what_tokens_cost_together_comes_back_bit_by_bit) {
  // How many tokens, each of which leads to states of its own, until nothing is left for the next. At each
  // place so many others are tried and taken back first, as drafts are, or are merely taken back.
  const auto count = [](std::uint64_t steps_per_token, int drafts = 0, bool are_set_back = false) {
    grammar_limits limits;
    limits.max_mask_steps = 100'000;
    limits.mask_steps_per_token = steps_per_token;
    const auto grammar = compile(*regex_grammar("(?s).*a.{200}", limits), byte_token_trie());
    matcher m(*grammar);
    std::vector<std::uint32_t> mask(9);
    std::uint32_t random = 1;
    result<void> last{};
    while (last && m.num_accepted() < 400) {
      random = random * 1664525 + 1013904223;
      last = m.fill_mask(mask);
      for (int i = 0; i < drafts && last; ++i) {
        const matcher::means before = m.means_left();
        last = m.accept(random >> 31 ? 'b' : 'a');
        if (last) last = m.fill_mask(mask);
        if (last) last = m.rollback(1);
        if (are_set_back) m.set_back(before);
      }
      if (last) last = m.accept(random >> 31 ? 'a' : 'b');
    }
    EXPECT_TRUE(last || (last.error().param == "mask_steps_per_token" && m.is_text_to_blame()));
    return m.num_accepted();
  };
  EXPECT_EQ(count(100'000), 400U);
  const std::size_t first = count(1), later = count(5000);
  EXPECT_GT(first, 5U);
  EXPECT_GT(later, first);
  EXPECT_LT(later, 400U);
  EXPECT_LE(count(5000, 5), later) << "what is taken back was no token";
  // What is known of the guesses changes a little what is found out about the others.
  EXPECT_LT(count(5000, 2) + 10, later);
  EXPECT_NEAR(static_cast<double>(count(5000, 2, true)), static_cast<double>(later), 2.0)
      << "and costs nothing where that is set back";
}

TEST(grammar_budget, what_no_text_can_have_is_the_grammars_fault_wherever_it_stands) {
  grammar_limits few;
  few.max_mask_steps = 10'000;
  grammar_builder b(few);
  b.set_start(b.sequence({b.literal("ab"), test::many_members(b)}));
  const auto grammar = compile(std::move(b), byte_token_trie());
  ASSERT_TRUE(grammar.has_value());
  matcher m(*grammar);
  std::vector<std::uint32_t> mask(9);
  ASSERT_TRUE(m.fill_mask(mask).has_value());
  ASSERT_TRUE(m.accept('a').has_value());
  auto last = m.fill_mask(mask);
  if (last) last = m.accept('b');
  if (last) last = m.fill_mask(mask);
  ASSERT_FALSE(last.has_value());
  EXPECT_EQ(last.error().param, "max_mask_steps");
  EXPECT_FALSE(m.is_text_to_blame());
}

TEST(grammar_budget, a_forced_text_is_one_budget) {
  grammar_limits limits;
  limits.max_mask_steps = 3000;
  const auto grammar = compile(*regex_grammar("x(ab?c{0,1}){0}y{900}", limits), byte_token_trie());
  ASSERT_TRUE(grammar.has_value());
  const auto text = matcher(*grammar).forced_bytes(2000);
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().param, "max_mask_steps");
  EXPECT_EQ(matcher(*grammar).forced_bytes(100).value(), "x" + std::string(99, 'y'));
}

TEST(grammar_budget, one_text_that_needs_more_than_the_memory_ends_with_its_name) {
  grammar_limits few;
  few.max_memory_bytes = 200'000;
  auto builder = regex_grammar("(?s).*a.{200}", few);
  const auto grammar = compile(std::move(*builder), byte_token_trie());
  ASSERT_TRUE(grammar.has_value());
  matcher m(*grammar);
  result<void> last{};
  std::uint32_t random = 1;
  for (int i = 0; i < 3000 && last; ++i) {
    random = random * 1664525 + 1013904223;
    last = m.accept(random >> 31 ? 'a' : 'b');
  }
  ASSERT_FALSE(last.has_value());
  EXPECT_EQ(last.error().code, error_code::too_large);
  EXPECT_EQ(last.error().param, "max_memory_bytes");
}

TEST(grammar_budget, long_texts_need_no_more_states_than_short_ones) {
  grammar_builder b;
  // Right recursion, left recursion and a counted list, each in its bracket.
  const symbol_id right = b.forward(), left = b.forward(), x = b.literal("x"), comma = b.literal(",");
  b.define(right, b.choice({x, b.sequence({x, comma, right})}));
  b.define(left, b.choice({x, b.sequence({left, comma, x})}));
  b.set_start(b.choice({b.sequence({b.literal("("), right, b.literal(")")}),
                        b.sequence({b.literal("["), left, b.literal("]")}),
                        b.sequence({b.literal("{"), b.list(x, comma, 2, unbounded), b.literal("}")})}));
  const auto grammar = compile(std::move(b), byte_token_trie());
  ASSERT_TRUE(grammar.has_value());
  std::size_t before = 0;
  for (const int size : {10, 2000}) {
    for (const std::string_view brackets : {"()", "[]", "{}"}) {
      std::string text(1, brackets[0]);
      for (int i = 0; i < size; ++i) text += i == 0 ? "x" : ",x";
      EXPECT_EQ(test::accepts(*grammar, text + brackets[1]), true);
    }
    if (before == 0)
      before = (*grammar)->count().states;
    else
      EXPECT_EQ((*grammar)->count().states, before);
  }
}

}  // namespace
}  // namespace troupe::grammar
