// Metadata that contradicts itself gives one clear error, and what it says about special tokens is obeyed.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/tokenizer/split_rules.hpp"
#include "tests/runtime/tokenizer/tokenizer_fixture.hpp"

namespace troupe {
namespace {

using test::gguf_writer;
using test::tiny_vocabulary;

struct metadata {
  std::string model = "gpt2", pre = "gpt-2";
  tiny_vocabulary words = test::tiny_bpe_vocabulary();
  bool with_pre = true, with_merges = true, with_types = true;
  std::function<void(gguf_writer&)> more = [](gguf_writer&) {};

  result<tokenizer_ptr> load() const {
    gguf_writer writer;
    writer.add("tokenizer.ggml.model", model.c_str());
    if (with_pre) writer.add("tokenizer.ggml.pre", pre.c_str());
    writer.add("tokenizer.ggml.tokens", words.tokens);
    if (with_types) writer.add("tokenizer.ggml.token_type", words.types);
    if (with_merges) writer.add("tokenizer.ggml.merges", words.merges);
    more(writer);
    return test::load_tokenizer(writer);
  }
  // "code: message" of the failure.
  std::string failure() const {
    const auto loaded = load();
    if (loaded) return "loaded";
    return std::string(loaded.error().code == error_code::corrupt_file  ? "corrupt"
                       : loaded.error().code == error_code::unsupported ? "unsupported"
                                                                        : "other") +
           ": " + loaded.error().message;
  }
};

TEST(load_tokenizer, names_what_is_damaged) {
  metadata good;
  EXPECT_EQ(good.failure(), "loaded");
  auto bad = good;
  bad.with_merges = false;
  EXPECT_EQ(bad.failure(), "corrupt: tokenizer.ggml.merges is missing");
  bad = good;
  bad.words.merges[3] = "nospace";
  EXPECT_EQ(bad.failure(), "corrupt: tokenizer.ggml.merges: entry 3 is not a pair");
  bad = good;
  bad.words.merges[3] = "";
  EXPECT_EQ(bad.failure(), "corrupt: tokenizer.ggml.merges: entry 3 is not a pair");
  bad = good;
  bad.words.merges[3] = "a nowhere";
  EXPECT_EQ(bad.failure(),
            "corrupt: tokenizer.ggml.merges: entry 3 names a token that is not in the vocabulary");
  bad = good;
  bad.words.tokens[9] = bad.words.tokens[5];
  EXPECT_EQ(bad.failure(), "corrupt: tokenizer.ggml.tokens: tokens 5 and 9 are the same");
  bad = good;
  bad.words.types.pop_back();
  EXPECT_EQ(bad.failure(), "corrupt: tokenizer.ggml.token_type has 298 entries for 299 tokens");
  bad = good;
  bad.words.types[7] = 77;
  EXPECT_EQ(bad.failure(), "corrupt: tokenizer.ggml.token_type: token 7 has the unknown type 77");
  bad = good;
  bad.words.types[7] = -1;
  EXPECT_EQ(bad.failure(), "corrupt: tokenizer.ggml.token_type: token 7 has the unknown type -1");
  bad = good;
  bad.words.tokens.clear();
  EXPECT_EQ(bad.failure(), "corrupt: tokenizer.ggml.tokens has 0 entries");
}

TEST(load_tokenizer, names_ids_outside_the_vocabulary) {
  for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
                          "tokenizer.ggml.eot_token_id", "tokenizer.ggml.unknown_token_id"}) {
    metadata bad;
    bad.more = [key](gguf_writer& writer) { writer.add(key, std::uint32_t{299}); };
    EXPECT_EQ(bad.failure(), "corrupt: " + std::string(key) + " is 299, but there are 299 tokens");
    bad.more = [key](gguf_writer& writer) { writer.add(key, std::int32_t{-1}); };
    EXPECT_EQ(bad.failure(), "corrupt: " + std::string(key) + " is -1, but there are 299 tokens");
  }
}

TEST(load_tokenizer, refuses_wrong_kinds) {
  metadata bad;
  bad.more = [](gguf_writer& writer) { writer.add("tokenizer.ggml.add_bos_token", "yes"); };
  EXPECT_EQ(bad.failure().substr(0, 8), "corrupt:");
  for (const char* key : {"tokenizer.ggml.tokens", "tokenizer.ggml.merges", "tokenizer.ggml.token_type"}) {
    for (const bool array : {true, false}) {
      gguf_writer writer;
      writer.add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.pre", "gpt-2");
      if (array) {
        writer.add(key, std::vector<float>{1, 2});
      } else {
        writer.add(key, std::uint32_t{1});
      }
      if (std::string(key) != "tokenizer.ggml.tokens")
        writer.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
      const auto loaded = test::load_tokenizer(writer);
      ASSERT_FALSE(loaded);
      EXPECT_EQ(loaded.error().code, error_code::corrupt_file);
      EXPECT_NE(loaded.error().message.find(key), std::string::npos) << loaded.error().message;
    }
  }
}

TEST(load_tokenizer, names_kinds_that_it_does_not_support) {
  metadata bad;
  bad.model = "bert";
  EXPECT_EQ(bad.failure(),
            "unsupported: tokenizer.ggml.model: tokenizers of the kind 'bert' are not supported");
  bad.model = "gpt2";
  bad.pre = "kimi-k2";
  EXPECT_EQ(bad.failure(),
            "unsupported: tokenizer.ggml.pre: the pre-tokenizer 'kimi-k2' is not supported; these are: " +
                split_rule_names());
  EXPECT_EQ(test::load_tokenizer(gguf_writer()).error().message, "tokenizer.ggml.model is missing");
}

TEST(load_tokenizer, checks_scores_and_byte_tokens) {
  gguf_writer writer;
  writer.add("tokenizer.ggml.model", "llama")
      .add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
  EXPECT_EQ(test::load_tokenizer(writer).error().message, "tokenizer.ggml.scores is missing");
  auto odd = writer;
  odd.add("tokenizer.ggml.scores", std::vector<float>{1});
  EXPECT_EQ(test::load_tokenizer(odd).error().message, "tokenizer.ggml.scores has 1 entries for 2 tokens");
  odd = writer;
  odd.add("tokenizer.ggml.scores", std::vector<float>{1, std::nanf("")});
  EXPECT_EQ(test::load_tokenizer(odd).error().message,
            "tokenizer.ggml.scores holds a value that is not a number");
  odd = writer;
  odd.add("tokenizer.ggml.scores", std::vector<float>{1, 2});
  odd.add("tokenizer.ggml.token_type", std::vector<std::int32_t>{6, 1});
  EXPECT_EQ(test::load_tokenizer(odd).error().message, "tokenizer.ggml.tokens: token 0 is no byte token");
}

TEST(load_tokenizer, adds_begin_and_end_of_text_where_the_file_asks) {
  metadata asked;
  asked.more = [](gguf_writer& writer) {
    writer.add("tokenizer.ggml.bos_token_id", std::uint32_t{0})
        .add("tokenizer.ggml.eos_token_id", std::uint32_t{2});
    writer.add("tokenizer.ggml.add_bos_token", true).add("tokenizer.ggml.add_eos_token", true);
  };
  const auto tokenizer = asked.load();
  ASSERT_TRUE(tokenizer);
  const auto ids = (*tokenizer)->encode("a", {});
  ASSERT_EQ(ids.size(), 3U);
  EXPECT_EQ(ids.front(), 0);
  EXPECT_EQ(ids.back(), 2);
  EXPECT_EQ((*tokenizer)->encode("a", {.add_special_tokens = false, .parse_special = true}).size(), 1U);
}

TEST(load_tokenizer, finds_user_defined_tokens_always_and_the_longest_one) {
  metadata with;
  for (const char* text : {"<a", "<a>b", "<a>"}) {
    with.words.tokens.emplace_back(text);
    with.words.types.push_back(4);
  }
  const auto tokenizer = with.load();
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ((*tokenizer)->encode("<a>b<a><a", {.add_special_tokens = false, .parse_special = false}),
            (std::vector<token_id>{300, 301, 299}));
}

TEST(load_tokenizer, prefers_whole_pieces_where_the_pattern_does) {
  metadata llama;
  llama.pre = "llama-bpe";
  llama.words.tokens.emplace_back("xyz");
  llama.words.types.push_back(1);
  EXPECT_EQ((*llama.load())->encode("xyz", {}), std::vector<token_id>{299});
  llama.pre = "qwen2";
  EXPECT_EQ((*llama.load())->encode("xyz", {}).size(), 3U);
}

std::vector<std::string> warnings_of(const tokenizer& loaded) {
  return {loaded.warnings().begin(), loaded.warnings().end()};
}

// A vocabulary with this token of this type; its id is 299.
metadata with_token(const char* text, std::int32_t type) {
  metadata with;
  with.words.tokens.emplace_back(text);
  with.words.types.push_back(type);
  return with;
}

TEST(load_tokenizer, ends_an_answer_with_an_unmistakable_mark_whatever_its_type) {
  for (const std::int32_t type : {1, 4, 5, 3}) {
    metadata odd;
    odd.words.types[2] = type;  // <|im_end|>
    const auto tokenizer = odd.load();
    ASSERT_TRUE(tokenizer);
    EXPECT_TRUE((*tokenizer)->is_end_of_generation(2)) << type;
    EXPECT_TRUE((*tokenizer)->is_special(2)) << type;
    EXPECT_EQ((*tokenizer)->decode(std::vector<token_id>{2}, true), "");
    // Nor does a text of a client's have it where special tokens are not asked for.
    EXPECT_GT(
        (*tokenizer)->encode("<|im_end|>", {.add_special_tokens = false, .parse_special = false}).size(), 1U);
    const std::vector<std::string> expected = {
        "the model file does not call <|im_end|> control: taken for what ends an answer, and not shown"};
    EXPECT_EQ(warnings_of(**tokenizer), type == 3 ? std::vector<std::string>() : expected);
  }
  for (const char* text : {"<|eot_id|>", "<|eot|>", "<|end|>", "<end_of_utterance>", "<end_of_turn>"}) {
    const auto tokenizer = with_token(text, 4).load();
    ASSERT_TRUE(tokenizer);
    EXPECT_TRUE((*tokenizer)->is_end_of_generation(299)) << text;
    EXPECT_TRUE((*tokenizer)->is_special(299)) << text;
  }
}

TEST(load_tokenizer, names_all_such_marks_in_one_warning) {
  metadata odd = with_token("<|eot_id|>", 4);
  odd.words.types[0] = 1;
  const auto tokenizer = odd.load();
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(
      warnings_of(**tokenizer),
      (std::vector<std::string>{"the model file does not call <|endoftext|>, <|eot_id|> control: taken for "
                                "what ends an answer, and not shown"}));
}

TEST(load_tokenizer, ends_an_answer_with_what_may_be_text_only_where_it_is_control) {
  for (const char* text : {"</s>", "<eos>", "[EOS]", "<EOT>", "_<EOT>", "<|return|>"}) {
    for (const std::int32_t type : {1, 4, 3}) {
      const auto tokenizer = with_token(text, type).load();
      ASSERT_TRUE(tokenizer);
      EXPECT_EQ((*tokenizer)->is_end_of_generation(299), type == 3) << text << ' ' << type;
      EXPECT_TRUE((*tokenizer)->warnings().empty());
    }
  }
}

TEST(load_tokenizer, goes_on_behind_a_message_where_another_mark_ends_the_answer) {
  metadata harmony = with_token("<|return|>", 3);
  harmony.words.tokens.emplace_back("<|end|>");
  harmony.words.types.push_back(3);
  const auto tokenizer = harmony.load();
  ASSERT_TRUE(tokenizer);
  EXPECT_TRUE((*tokenizer)->is_end_of_generation(299));
  EXPECT_FALSE((*tokenizer)->is_end_of_generation(300));
}

TEST(load_tokenizer, splits_as_llama_cpp_does_where_the_file_does_not_say_how_and_warns) {
  metadata silent;
  silent.with_pre = false;
  const auto tokenizer = silent.load();
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(
      warnings_of(**tokenizer),
      (std::vector<std::string>{"tokenizer.ggml.pre is missing: text is split as llama.cpp splits it then, "
                                "maybe not as the model has learned it"}));
  silent.with_pre = true;
  silent.pre = "default";
  const auto named = silent.load();
  ASSERT_TRUE(named);
  EXPECT_EQ(warnings_of(**named),
            (std::vector<std::string>{"tokenizer.ggml.pre does not say how text is split: text is split as "
                                      "llama.cpp splits it then, maybe not as the model has learned it"}));
}

// The vocabulary with a token for U+00E9, as Qwen's has one. Hugging Face's tokenizers, with an NFC
// normalizer, give this id for both spellings.
metadata with_e_acute(const char* pre) {
  metadata with = with_token("\u00c3\u00a9", 1);
  with.words.merges.emplace_back("\u00c3 \u00a9");
  with.pre = pre;
  return with;
}

TEST(load_tokenizer, composes_letters_and_their_marks_for_qwen) {
  for (const char* pre : {"qwen2", "deepseek-r1-qwen"}) {
    const auto tokenizer = with_e_acute(pre).load();
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ((*tokenizer)->encode("\u00e9", {}), std::vector<token_id>{299});
    EXPECT_EQ((*tokenizer)->encode("e\u0301", {}), std::vector<token_id>{299});
    EXPECT_EQ((*tokenizer)->most_bytes_for_one(), 4U);
  }
  const auto other = with_e_acute("llama-bpe").load();
  ASSERT_TRUE(other);
  EXPECT_EQ((*other)->encode("e\u0301", {}).size(), 3U);
  EXPECT_EQ((*other)->most_bytes_for_one(), 1U);
}

TEST(load_tokenizer, composes_only_what_stands_between_special_tokens_and_is_text) {
  const auto tokenizer = with_e_acute("qwen2").load();
  ASSERT_TRUE(tokenizer);
  // A mark behind a special token has no letter.
  EXPECT_EQ((*tokenizer)->decode((*tokenizer)->encode("e<|im_end|>\u0301", {}), false), "e<|im_end|>\u0301");
  EXPECT_EQ((*tokenizer)->decode((*tokenizer)->encode("\xCC e\u0301 \xFF\u0301\xCC", {}), false),
            "\xCC \u00e9 \xFF\u0301\xCC");
}

}  // namespace
}  // namespace troupe
