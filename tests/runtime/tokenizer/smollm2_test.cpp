// The default model's tokenizer against Hugging Face's, and what its vocabulary says about itself.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/runtime/tokenizer/tokenizer_fixture.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using nlohmann::json;
using test::default_tokenizer;

TEST(smollm2_tokenizer, encodes_every_golden_text_as_hugging_face_does) {
  std::ifstream lines(test::source_path("tests/data/smollm2_tokenizer.jsonl"));
  const auto tokenizer = default_tokenizer();
  ASSERT_TRUE(tokenizer);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto golden = json::parse(line);
    const auto text = golden.at("text").get<std::string>();
    const auto ids = golden.at("ids").get<std::vector<token_id>>();
    EXPECT_EQ(tokenizer->encode(text, {}), ids) << golden.at("text").dump();
    EXPECT_EQ(tokenizer->decode(ids, false), text);
  }
  EXPECT_GT(count, 500U);
}

// The vocabulary lacks 21 bytes, most of which stand in no text; there is no token to say them with.
std::string spellable(const std::string& text) {
  static const std::string missing =
      "\x04\x06\x13\x14\x16\x1d\xc0\xc1\xf1\xf2\xf5\xf6\xf7\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff";
  std::string kept;
  for (const char byte : text) {
    if (missing.find(byte) == std::string::npos) kept += byte;
  }
  return kept;
}

TEST(smollm2_tokenizer, gives_any_bytes_back_that_its_vocabulary_has) {
  const auto tokenizer = default_tokenizer();
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    const auto text = test::random_text(random, 1 + random() % 60, false);
    const encode_options options{.add_special_tokens = true, .parse_special = round % 2 == 0};
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, options), false), spellable(text));
  }
}

TEST(smollm2_tokenizer, finds_special_tokens_only_where_asked) {
  const auto tokenizer = default_tokenizer();
  const std::string text = "<|im_start|>user";
  EXPECT_EQ(tokenizer->encode(text, {}).front(), 1);
  const auto plain = tokenizer->encode(text, {.add_special_tokens = true, .parse_special = false});
  for (const auto id : plain) EXPECT_FALSE(tokenizer->is_special(id));
  EXPECT_EQ(tokenizer->decode(plain, true), text);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, {}), true), "user");
}

TEST(smollm2_tokenizer, knows_its_special_tokens) {
  const auto tokenizer = default_tokenizer();
  EXPECT_EQ(tokenizer->vocab_size(), 49152);
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_EQ(tokenizer->eos(), 2);
  EXPECT_TRUE(tokenizer->is_end_of_generation(2));  // <|im_end|>
  EXPECT_TRUE(tokenizer->is_end_of_generation(0));  // <|endoftext|>
  EXPECT_FALSE(tokenizer->is_end_of_generation(1));
  EXPECT_EQ(tokenizer->find("<|im_end|>"), 2);
  EXPECT_EQ(tokenizer->find("no such token"), std::nullopt);
}

TEST(smollm2_tokenizer, treats_ids_outside_the_vocabulary_as_nothing) {
  const auto tokenizer = default_tokenizer();
  for (const token_id id : {-1, 49152, 1 << 30}) {
    EXPECT_EQ(tokenizer->piece(id), "");
    EXPECT_FALSE(tokenizer->is_special(id));
    EXPECT_FALSE(tokenizer->is_end_of_generation(id));
  }
}

// The sizes make anything quadratic run for hours.
TEST(smollm2_tokenizer, encodes_a_mebibyte_without_a_single_border) {
  const auto tokenizer = default_tokenizer();
  constexpr std::size_t size = 1U << 20U;
  std::string mixed;
  while (mixed.size() < size) mixed += "a\x80";
  for (const auto& text :
       {std::string(size, 'a'), std::string(size, ' '), std::string(size, '\n'), std::string(size, '7'),
        std::string(size, '\x80'), std::string(size, '<'), mixed}) {
    EXPECT_TRUE(tokenizer->decode(tokenizer->encode(text, {}), false) == text) << text.substr(0, 2);
  }
}

}  // namespace
}  // namespace troupe
