#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "runtime/utf8.hpp"
#include "tests/runtime/tokenizer/tokenizer_fixture.hpp"

namespace troupe {
namespace {

class incremental_detokenizer_test : public testing::TestWithParam<const char*> {
 protected:
  tokenizer_ptr tokenizer_ = test::tiny_tokenizer(GetParam());

  // The stream's text; every piece of it must be whole characters.
  std::string stream(const std::vector<token_id>& ids, bool skip_special_tokens) const {
    incremental_detokenizer detokenizer(tokenizer_, skip_special_tokens);
    std::string text;
    for (const auto id : ids) {
      const auto shown = detokenizer.push(id);
      EXPECT_EQ(valid_utf8_prefix(shown), shown.size()) << "half a character";
      text += shown;
    }
    return text + detokenizer.finish();
  }
};

TEST_P(incremental_detokenizer_test, gives_the_text_of_the_whole) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    const auto text = test::random_text(random, 1 + random() % 20, true);
    const auto ids = tokenizer_->encode(text, {});
    EXPECT_EQ(stream(ids, false), tokenizer_->decode(ids, false));
    EXPECT_EQ(stream(ids, true), tokenizer_->decode(ids, true));
  }
}

TEST_P(incremental_detokenizer_test, replaces_what_is_no_character_in_random_tokens) {
  std::mt19937 random(12);
  for (int round = 0; round < 2000; ++round) {
    std::vector<token_id> ids(random() % 12);
    for (auto& id : ids)
      id = static_cast<token_id>(random() % static_cast<unsigned>(tokenizer_->vocab_size()));
    EXPECT_EQ(stream(ids, false), replace_invalid_utf8(tokenizer_->decode(ids, false)));
    EXPECT_EQ(stream(ids, true), replace_invalid_utf8(tokenizer_->decode(ids, true)));
  }
}

TEST_P(incremental_detokenizer_test, replaces_an_unfinished_character_at_the_end) {
  auto ids = tokenizer_->encode("a日", {});
  ids.pop_back();
  EXPECT_EQ(stream(ids, true), "a\uFFFD");
}

INSTANTIATE_TEST_SUITE_P(kinds, incremental_detokenizer_test, testing::Values("gpt-2", "llama-bpe", ""));

TEST(incremental_detokenizer, keeps_the_first_space_where_text_stands_before_it) {
  const auto tokenizer = test::tiny_tokenizer("");
  const auto id = *tokenizer->find("▁the");
  EXPECT_EQ(incremental_detokenizer(tokenizer, true, true).push(id), "the");
  EXPECT_EQ(incremental_detokenizer(tokenizer, true, false).push(id), " the");
}

}  // namespace
}  // namespace troupe
