// Masks, ends and errors of random grammars against the slow way to the same answer.
#include <gtest/gtest.h>

#include "runtime/grammar/matcher.hpp"
#include "runtime/token_bits.hpp"
#include "tests/runtime/grammar/grammar_fixture.hpp"
#include "tests/support/paths.hpp"

namespace troupe::grammar {
namespace {

// Every letter but one that may be missing, and random texts of up to five without it; the last two are
// special.
struct small_vocabulary {
  std::vector<std::string> texts;
  token_trie_ptr trie;
  token_id end = 0;

  explicit small_vocabulary(std::mt19937& random, char missing = 0) {
    for (const char c : oracle::alphabet) texts.emplace_back(1, c);
    for (int i = 0; i < 10; ++i) {
      texts.emplace_back();
      for (std::size_t size = 2 + random() % 3; size > 0; --size)
        texts.back() += random() % 5 == 0 ? "\xC3\xA9" : random() % 2 == 0 ? "a" : "b";
      if (random() % 4 == 0) texts.back().pop_back();
    }
    std::erase_if(texts, [missing](const std::string& text) { return text.find(missing) != text.npos; });
    std::vector<vocabulary_token> tokens;
    for (const std::string& text : texts) tokens.push_back({text, true, false});
    tokens.push_back({"ab", false, false});  // a special token's text is not text
    tokens.push_back({"b", false, true});
    end = static_cast<token_id>(texts.size() + 1);
    trie = make_token_trie(tokens);
  }
};

// Half of the vocabularies lack a letter, so that what needs it leads nowhere.
TEST(matcher_oracle, every_bit_of_every_mask_is_whether_some_completion_exists) {
  const auto wanted = static_cast<int>(troupe::test::repeated(2000));
  int grammars = 0, bits = 0, set = 0;
  for (unsigned seed = 0; grammars < wanted; ++seed) {
    std::mt19937 random(seed);
    // Of 20,000 such grammars a few have masks that take more than a request may.
    const char missing = seed / 4 % 2 == 0 ? 0 : oracle::alphabet[seed / 8 % 4];
    const byte_set spelled = ~byte_set::of(static_cast<unsigned char>(missing));
    grammar_builder builder({.max_mask_steps = 1'000'000'000, .alphabet = spelled});
    const oracle::grammar meaning(builder, random, 1 + seed % 4);
    const small_vocabulary vocabulary(random, missing);
    const auto compiled = compile(std::move(builder), vocabulary.trie);
    ASSERT_EQ(compiled.has_value(), meaning.has_text()) << "seed " << seed;
    if (!compiled) continue;
    ++grammars;
    matcher m(*compiled);
    std::string text;
    for (int step = 0; step < 4; ++step) {
      std::vector<std::uint32_t> mask(vocabulary.trie->num_words(), 0xDEADBEEF);
      const auto filled = m.fill_mask(mask);
      std::vector<token_id> allowed;
      for (std::size_t i = 0; i < vocabulary.texts.size(); ++i) {
        const auto token = static_cast<token_id>(i);
        const bool expected = meaning.begins(text + vocabulary.texts[i]);
        ASSERT_EQ(has_token(mask, token), expected)
            << "seed " << seed << " after '" << text << "' token '" << vocabulary.texts[i] << "'";
        if (expected) allowed.push_back(token);
        ++bits;
      }
      ASSERT_FALSE(has_token(mask, vocabulary.end - 1)) << "seed " << seed;
      ASSERT_EQ(has_token(mask, vocabulary.end), meaning.accepts(text))
          << "seed " << seed << " after '" << text << "'";
      ASSERT_EQ(filled.has_value(), !allowed.empty() || meaning.accepts(text));
      set += static_cast<int>(allowed.size());
      if (allowed.empty()) break;
      const token_id next = allowed[random() % allowed.size()];
      ASSERT_TRUE(m.accept(next).has_value());
      text += vocabulary.texts[static_cast<std::size_t>(next)];
    }
  }
  EXPECT_GT(set, bits / 10);
  EXPECT_LT(set, bits * 9 / 10);
}

TEST(matcher_oracle, taking_back_and_forking_at_any_point_change_nothing_else) {
  int rollbacks = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    grammar_builder builder({.max_mask_steps = 1'000'000'000});
    const oracle::grammar meaning(builder, random, 2);
    const small_vocabulary vocabulary(random);
    const auto compiled = compile(std::move(builder), vocabulary.trie);
    if (!compiled) continue;
    // What a matcher that went straight to these tokens says.
    const auto fresh_mask = [&](const std::vector<token_id>& tokens) {
      matcher fresh(*compiled);
      for (const token_id token : tokens) EXPECT_TRUE(fresh.accept(token).has_value());
      std::vector<std::uint32_t> mask(vocabulary.trie->num_words());
      static_cast<void>(fresh.fill_mask(mask));
      return mask;
    };
    matcher m(*compiled);
    std::vector<token_id> tokens;
    for (int step = 0; step < 20; ++step) {
      std::vector<std::uint32_t> mask(vocabulary.trie->num_words());
      static_cast<void>(m.fill_mask(mask));
      ASSERT_EQ(mask, fresh_mask(tokens)) << "seed " << seed;
      ASSERT_EQ(m.is_terminated(), !tokens.empty() && tokens.back() == vocabulary.end);
      const auto token = static_cast<token_id>(random() % vocabulary.trie->vocab_size());
      if (random() % 3 == 0) {
        matcher other = m.fork();
        static_cast<void>(other.accept(token));
        static_cast<void>(other.rollback(random() % 3));
      } else if (random() % 4 == 0) {
        const std::size_t n = random() % (tokens.size() + 2);
        ASSERT_EQ(m.rollback(n).has_value(), n <= tokens.size());
        if (n <= tokens.size()) tokens.resize(tokens.size() - n);
        ++rollbacks;
      } else {
        ASSERT_EQ(m.count_accepted({&token, 1}).value(), has_token(mask, token) ? 1U : 0U);
        ASSERT_EQ(m.accept(token).has_value(), has_token(mask, token)) << "seed " << seed;
        if (has_token(mask, token)) tokens.push_back(token);
      }
      ASSERT_EQ(m.num_accepted(), tokens.size());
    }
  }
  EXPECT_GT(rollbacks, 100);
}

}  // namespace
}  // namespace troupe::grammar
