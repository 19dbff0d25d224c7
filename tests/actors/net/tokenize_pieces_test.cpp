#include "actors/net/tokenize_pieces.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/openai/tokenize.hpp"

namespace troupe::net::testing {
namespace {

TEST(tokenize_pieces, make_the_whole_answer_one_behind_the_other) {
  for (const token_id count : {0, 1, 2, 1000}) {
    std::vector<token_id> tokens;
    std::vector<std::string> texts;
    const auto text_of = [](token_id id) { return "\"" + std::to_string(id) + "\xFF"; };
    for (token_id id = 0; id < count; ++id) {
      tokens.push_back(7 * id);
      texts.push_back(text_of(tokens.back()));
    }
    for (const bool with_texts : {false, true}) {
      const std::string whole = openai::tokenize_answer(tokens, with_texts ? &texts : nullptr, 512);
      for (const std::size_t bytes : {1U, 7U, 100U, 1U << 20U}) {
        tokenize_pieces pieces(tokens, with_texts ? openai::token_namer(text_of) : nullptr, 512);
        std::string joined;
        for (std::string piece = pieces.next(bytes); !piece.empty(); piece = pieces.next(bytes)) {
          EXPECT_LE(piece.size(), bytes + 64);
          joined += piece;
        }
        EXPECT_EQ(joined, whole) << bytes;
      }
    }
  }
}

}  // namespace
}  // namespace troupe::net::testing
