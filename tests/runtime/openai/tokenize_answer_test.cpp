#include "runtime/openai/tokenize_answer.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/json/json.hpp"

namespace troupe::openai {
namespace {

std::string text_of(token_id id) { return "\"" + std::to_string(id); }

// All that there are, of so many bytes each.
std::string joined(tokenize_answer answer, std::size_t bytes) {
  std::string text;
  for (std::string piece = answer.next(bytes); !piece.empty(); piece = answer.next(bytes)) {
    EXPECT_LE(piece.size(), bytes + 64);
    text += piece;
  }
  return text;
}

TEST(tokenize_answer, is_the_same_in_pieces_of_any_size) {
  for (const token_id count : {0, 1, 2, 1000}) {
    std::vector<token_id> tokens;
    json texts = json::array();
    for (token_id id = 0; id < count; ++id) {
      tokens.push_back(7 * id);
      texts.push_back(text_of(7 * id));
    }
    json expected{{"count", count}, {"max_model_len", 512}, {"tokens", tokens}, {"token_strs", nullptr}};
    for (const std::size_t bytes : {1U, 7U, 100U, 1U << 20U})
      EXPECT_EQ(joined(tokenize_answer(tokens, nullptr, 512), bytes), expected.dump());
    expected["token_strs"] = texts;
    for (const std::size_t bytes : {1U, 7U, 100U, 1U << 20U})
      EXPECT_EQ(joined(tokenize_answer(tokens, text_of, 512), bytes), expected.dump());
  }
}

TEST(tokenize_answer, tells_bytes_that_are_no_text_as_replacement_characters) {
  EXPECT_EQ(joined(tokenize_answer(
                       {3}, [](token_id) { return "\xFF"; }, 8),
                   100),
            "{\"count\":1,\"max_model_len\":8,\"tokens\":[3],\"token_strs\":[\"\xEF\xBF\xBD\"]}");
}

}  // namespace
}  // namespace troupe::openai
