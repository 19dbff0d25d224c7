// Texts with bytes that no token of the vocabulary has: no mask leads to where only they go on.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "runtime/gguf/gguf.hpp"
#include "runtime/grammar/matcher.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"
#include "runtime/token_bits.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "tests/support/paths.hpp"

namespace troupe::grammar {
namespace {

const token_trie_ptr& vocabulary_of_the_default_model() {
  static const token_trie_ptr trie = [] {
    const auto file = gguf::file::open(troupe::test::default_model_path());
    EXPECT_TRUE(file.has_value()) << file.error().message;
    return make_token_trie(**load_tokenizer(*file));
  }();
  return trie;
}

result<compiled_grammar_ptr> compiled(const grammar_spec& spec) {
  return compile(spec, vocabulary_of_the_default_model(), {});
}

grammar_spec schema(std::string text) { return {.kind = grammar_kind::json_schema, .text = std::move(text)}; }
grammar_spec regex_of(std::string text) { return {.kind = grammar_kind::regex, .text = std::move(text)}; }

// Those that end what JSON has open.
std::vector<token_id> closing_tokens(const token_trie& trie) {
  std::vector<token_id> closing;
  for (std::size_t i = 0; i < trie.vocab_size(); ++i) {
    const auto bytes = trie.bytes(static_cast<token_id>(i));
    if (bytes == "\"" || bytes == "]" || bytes == "}") closing.push_back(static_cast<token_id>(i));
  }
  return closing;
}

// Some text of the grammar, by tokens that its masks allow; what it had to say where none goes on. Ends where
// it may, and at the latest with its end token. What is long enough is closed: of random JSON more is opened
// than closed.
result<std::string> random_text(const compiled_grammar_ptr& grammar, unsigned seed) {
  const token_trie& trie = grammar->vocabulary();
  std::mt19937 random(seed);
  matcher m(grammar);
  std::vector<std::uint32_t> mask(trie.num_words());
  const std::vector<token_id> closing = closing_tokens(trie);
  const auto is_allowed = [&mask](token_id token) { return has_token(mask, token); };
  std::string text;
  while (true) {
    if (auto filled = m.fill_mask(mask); !filled) return tl::unexpected(filled.error());
    const bool is_long = text.size() > 40;
    if (is_long && *m.can_end()) return text;
    const auto closes = is_long ? std::ranges::find_if(closing, is_allowed) : closing.end();
    std::size_t place = random() % trie.vocab_size();
    while (!is_allowed(static_cast<token_id>(place % trie.vocab_size()))) ++place;
    const auto next = closes != closing.end() ? *closes : static_cast<token_id>(place % trie.vocab_size());
    if (trie.is_end(next)) return text;
    if (auto accepted = m.accept(next); !accepted) return tl::unexpected(accepted.error());
    text += trie.bytes(next);
  }
}

TEST(unspelled_texts, are_those_with_bytes_that_no_token_has) {
  const byte_set& alphabet = vocabulary_of_the_default_model()->alphabet();
  EXPECT_FALSE(alphabet.contains(0xF1));
  EXPECT_FALSE(alphabet.contains(0xF2));
  for (unsigned byte = 0x20; byte < 0x7F; ++byte)
    EXPECT_TRUE(alphabet.contains(static_cast<unsigned char>(byte)));
  EXPECT_TRUE(alphabet.contains(0xF0));
}

TEST(unspelled_texts, are_never_begun) {
  const std::vector<grammar_spec> specs{
      schema(R"({"enum":["a\uD8C0\uDC00","b"]})"),
      regex_of("x\xF1\x80\x80\x80|y"),
      schema(R"({"type":"object","properties":{"k":{"const":"\uD8C0\uDC00"}},"maxProperties":1})"),
      {.kind = grammar_kind::choice, .choices = {"left \xF2\x80\x80\x80", "left or right"}},
      {.kind = grammar_kind::grammar, .text = "root ::= \"a\" (\"\xF1\x90\x80\x80\" | \"b\" root) | \"c\""},
  };
  for (const grammar_spec& spec : specs) {
    const auto grammar = compiled(spec);
    ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
    for (unsigned seed = 0; seed < 40; ++seed) {
      const auto text = random_text(*grammar, seed);
      ASSERT_TRUE(text.has_value()) << spec.text << ": " << text.error().message;
    }
  }
}

TEST(unspelled_texts, alone_are_refused_by_the_byte_and_where_it_stands) {
  const std::string lack = "; no token of the vocabulary has the byte 0xF1 of a text or a character of it";
  EXPECT_EQ(compiled(regex_of("[\xF1\x80\x80\x80-\xF1\x80\x80\xBF]+")).error().message,
            "grammar: no text belongs to it" + lack);
  const auto refused =
      compiled(schema(R"({"type":"object","properties":{"k":{"const":"\uD8C0\uDC00"}},"required":["k"]})"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, error_code::invalid_argument);
  EXPECT_EQ(refused.error().message,
            "JSON Schema, at \"/properties/k\": this is satisfied by no value" + lack);
}

// The others of a class stay, and so does the speed of masks that whole groups of characters decide.
TEST(unspelled_texts, leave_the_rest_of_a_class_of_characters) {
  for (const char* text : {"[^a]{3}", ".{2,9}", "\"[^\"]*\""}) {
    const auto grammar = compiled(regex_of(text));
    ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
    for (unsigned seed = 0; seed < 20; ++seed) EXPECT_TRUE(random_text(*grammar, seed).has_value()) << text;
  }
}

}  // namespace
}  // namespace troupe::grammar
