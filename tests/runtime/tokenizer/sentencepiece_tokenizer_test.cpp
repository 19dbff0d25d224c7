// Against SentencePiece itself, on small models that it trained (tests/data/make_tokenizer_cases.py).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/runtime/tokenizer/tokenizer_fixture.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using nlohmann::json;

tokenizer_ptr load(const json& model) {
  std::vector<std::string> texts;
  std::vector<float> scores;
  std::vector<std::int32_t> types;
  for (const auto& piece : model.at("pieces")) {
    texts.push_back(piece.at(0).get<std::string>());
    scores.push_back(piece.at(1).get<float>());
    types.push_back(piece.at(2).get<std::int32_t>());
  }
  test::gguf_writer writer;
  writer.add("tokenizer.ggml.model", "llama")
      .add("tokenizer.ggml.tokens", texts)
      .add("tokenizer.ggml.scores", scores)
      .add("tokenizer.ggml.token_type", types)
      .add("tokenizer.ggml.add_space_prefix", model.at("add_space_prefix").get<bool>());
  const auto loaded = test::load_tokenizer(writer);
  if (!loaded) ADD_FAILURE() << loaded.error().message;
  return loaded ? *loaded : nullptr;
}

constexpr encode_options plain{.add_special_tokens = false, .parse_special = false};

TEST(sentencepiece_tokenizer, does_as_sentencepiece_does) {
  std::ifstream file(test::source_path("tests/data/sentencepiece.json"));
  const auto models = json::parse(file, nullptr, false);
  ASSERT_EQ(models.size(), 3U);
  for (const auto& model : models) {
    const auto tokenizer = load(model);
    ASSERT_TRUE(tokenizer);
    for (const auto& one : model.at("cases")) {
      const auto text = one.at(0).get<std::string>();
      const auto ids = one.at(1).get<std::vector<token_id>>();
      EXPECT_EQ(tokenizer->encode(text, plain), ids) << model.at("name") << ": " << one.at(0).dump();
      EXPECT_EQ(tokenizer->decode(ids, true), one.at(2).get<std::string>()) << model.at("name");
    }
  }
}

TEST(sentencepiece_tokenizer, puts_the_begin_of_text_before_where_asked) {
  const auto tokenizer = test::tiny_tokenizer("");
  const auto with = tokenizer->encode("and the", {});
  EXPECT_EQ(with.front(), tokenizer->bos());
  EXPECT_EQ(std::vector(with.begin() + 1, with.end()), tokenizer->encode("and the", plain));
}

TEST(sentencepiece_tokenizer, gives_any_bytes_back) {
  const auto tokenizer = test::tiny_tokenizer("");
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const auto text = test::random_text(random, 1 + random() % 40, false);
    if (text.find("\xE2\x96\x81") != std::string::npos) continue;  // U+2581 is a space here
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, plain), true), text);
  }
}

TEST(sentencepiece_tokenizer, takes_an_unused_token_apart_again) {
  test::gguf_writer writer;
  writer.add("tokenizer.ggml.model", "llama")
      .add("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "a", "b", "ab", "abab"})
      .add("tokenizer.ggml.scores", std::vector<float>{0, -5, -4, -1, -2})
      .add("tokenizer.ggml.token_type", std::vector<std::int32_t>{2, 1, 1, 5, 1})
      .add("tokenizer.ggml.add_space_prefix", false);
  const auto tokenizer = test::load_tokenizer(writer);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->encode("ababab", plain), (std::vector<token_id>{4, 1, 2}));
  EXPECT_EQ((*tokenizer)->encode("xab", plain), (std::vector<token_id>{0, 1, 2}));
}

TEST(sentencepiece_tokenizer, encodes_a_mebibyte_without_a_single_border) {
  const auto tokenizer = test::tiny_tokenizer("");
  constexpr std::size_t size = 1U << 20U;
  for (const auto& text : {std::string(size, 'a'), std::string(size, ' '), std::string(size, '\xFF')}) {
    EXPECT_TRUE(tokenizer->decode(tokenizer->encode(text, plain), true) == text) << text.substr(0, 2);
  }
}

}  // namespace
}  // namespace troupe
