// Masks over the default model's vocabulary, token by token where a mask says yes or no at random.
#include <gtest/gtest.h>

#include <random>

#include "runtime/gguf/gguf.hpp"
#include "runtime/grammar/matcher.hpp"
#include "runtime/grammar/notations/ebnf.hpp"
#include "runtime/grammar/notations/structural_tag.hpp"
#include "runtime/token_bits.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "tests/runtime/grammar/byte_matcher_fixture.hpp"
#include "tests/support/paths.hpp"

namespace troupe::grammar {
namespace {

struct model_vocabulary {
  tokenizer_ptr tokenizer;
  token_trie_ptr trie;
};

const model_vocabulary& smollm2_vocabulary() {
  static const model_vocabulary loaded = [] {
    const auto file = gguf::file::open(troupe::test::default_model_path());
    EXPECT_TRUE(file.has_value()) << file.error().message;
    const auto tokenizer = load_tokenizer(*file);
    EXPECT_TRUE(tokenizer.has_value());
    return model_vocabulary{*tokenizer, make_token_trie(**tokenizer)};
  }();
  return loaded;
}

constexpr std::string_view json = R"(start: value
value: object | array | ESCAPED_STRING | SIGNED_NUMBER | "true" | "false" | "null"
object: "{" [pair ("," pair)*] "}"
pair: ESCAPED_STRING ":" value
array: "[" [value ("," value)*] "]"
ESCAPED_STRING: /"([^"\\\x00-\x1F]|\\(["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/
%import common.SIGNED_NUMBER
WS: /[ \n]{1,4}/
%ignore WS
)";

// Walks along the texts; at each place, some tokens are tried byte by byte.
void check_masks(const std::string& grammar_text, const std::vector<std::string>& texts) {
  const auto& [tokenizer, trie] = smollm2_vocabulary();
  auto builder = ebnf_grammar(grammar_text, {});
  ASSERT_TRUE(builder.has_value()) << builder.error().message;
  const auto grammar = compile(grammar_builder(*builder), trie);
  const auto by_bytes = compile(std::move(*builder), byte_token_trie());
  ASSERT_TRUE(grammar.has_value() && by_bytes.has_value());
  std::mt19937 random(7);
  std::size_t allowed = 0, refused = 0;
  for (const std::string& text : texts) {
    matcher tokens(*grammar), bytes(*by_bytes);
    std::vector<std::uint32_t> mask(trie->num_words());
    for (const token_id next : tokenizer->encode(text, {false, false})) {
      ASSERT_TRUE(tokens.fill_mask(mask).has_value());
      for (int i = 0; i < 300; ++i) {
        const auto token = static_cast<token_id>(random() % trie->vocab_size());
        const bool has = has_token(mask, token);
        std::vector<token_id> spelled;
        for (const char c : trie->bytes(token)) spelled.push_back(static_cast<unsigned char>(c));
        const bool expected = trie->is_end(token)
                                  ? *bytes.can_end()
                                  : !spelled.empty() && *bytes.count_accepted(spelled) == spelled.size();
        ASSERT_EQ(has, expected) << "token '" << tokenizer->piece(token) << "' in " << text;
        ++(has ? allowed : refused);
      }
      ASSERT_TRUE(tokens.accept(next).has_value()) << tokenizer->piece(next) << " in " << text;
      for (const char c : trie->bytes(next))
        ASSERT_TRUE(bytes.accept(static_cast<unsigned char>(c)).has_value());
    }
    ASSERT_TRUE(*tokens.can_end());
  }
  EXPECT_GT(allowed, 100U);
  EXPECT_GT(refused, 100U);
}

TEST(smollm2_mask, a_json_mask_holds_for_each_token) {
  check_masks(std::string(json),
              {R"({"name": "a caf\u00e9 \"quoted\"", "tags": [1, -2.5e3, true, null, [[]]]})",
               "[\"\xC3\xA9\xE6\xBC\xA2\xE5\xAD\x97 \xF0\x9F\x98\x80 text\", {}]"});
}

TEST(smollm2_mask, masks_of_bounded_and_narrow_texts_hold_for_each_token) {
  check_masks(
      R"(root ::= [^"\x00-\x1f]{0,12} "\"" | ([A-Za-z ]{3,9} ";"){2} | [\u00e9-\U0001F600a-z]* "." | "#" .{0,3} | "%" [A-Za-z ]{3} ("x" | "Y1")* ".")",
      {"hello world\"", "abc;the word;", "\xC3\xA9t\xC3\xA9\xF0\x9F\x98\x80.", "#\xF0\x9F\x98\x80\xC3\xA9",
       "%theY1x."});
}

// Most letters lead to one place, a few first letters elsewhere: as names of known members among others.
TEST(smollm2_mask, masks_where_a_few_letters_lead_elsewhere_hold_for_each_token) {
  check_masks(
      R"(root ::= "\"" ([^"\\aT\xE9] [^"\\]* | "ab" [0-9]* | "T" ("h" [^"\\]* | "\u00e9") | "\u00e9" [a-z]) "\"")",
      {"\"ab12\"", "\"The \xC3\xA9nd\"", "\"T\xC3\xA9\"", "\"\xC3\xA9t\"", "\"some text\""});
  check_masks(R"(root ::= [b-zA-Z] [a-zA-Z]* "!" | "a" ("x" [a-z]* | [A-Z]) "?")", {"axy?", "Word!", "aQ?"});
}

TEST(smollm2_mask, forced_tokens_are_the_tokenizers_own_and_end_before_what_is_open) {
  const auto& [tokenizer, trie] = smollm2_vocabulary();
  const auto tokens_of = [&](const char* text) {
    auto builder = ebnf_grammar(text, {});
    EXPECT_TRUE(builder.has_value());
    matcher m(*compile(std::move(*builder), trie));
    const auto tokens = m.forced_tokens(*tokenizer);
    EXPECT_TRUE(tokens.has_value());
    // They can all be accepted, and begin what the tokenizer makes of the text they spell.
    EXPECT_EQ(m.count_accepted(*tokens).value(), tokens->size());
    return *tokens;
  };
  EXPECT_EQ(tokens_of("root ::= \"the only text\""), tokenizer->encode("the only text", {false, false}));
  const auto open = tokens_of("root ::= \"{\\\"name\\\": \\\"\" [a-z]+ \"\\\"}\"");
  const auto whole = tokenizer->encode("{\"name\": \"bob\"}", {false, false});
  ASSERT_FALSE(open.empty());
  ASSERT_LT(open.size(), whole.size());
  EXPECT_TRUE(std::equal(open.begin(), open.end(), whole.begin()));
  EXPECT_TRUE(tokens_of("root ::= \"a\" | \"b\"").empty());
}

TEST(smollm2_mask, what_the_vocabulary_cannot_spell_ends_with_an_error) {
  const std::vector<vocabulary_token> few{{"a", true, false}, {"b", true, false}, {"", false, true}};
  auto builder = ebnf_grammar("root ::= \"a\" \"c\"", {});
  matcher m(*compile(std::move(*builder), make_token_trie(few)));
  std::vector<std::uint32_t> mask(1);
  ASSERT_TRUE(m.fill_mask(mask).has_value());
  EXPECT_EQ(mask[0], 1U);
  ASSERT_TRUE(m.accept(0).has_value());
  EXPECT_EQ(m.fill_mask(mask).error().code, error_code::invalid_argument);
}

}  // namespace
}  // namespace troupe::grammar
