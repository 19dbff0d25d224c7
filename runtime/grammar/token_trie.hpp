// The vocabulary as the matcher sees it: the bytes of every token that is text, as a trie in one array.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/request.hpp"
#include "runtime/result.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe::grammar {

struct vocabulary_token {
  std::string_view bytes;
  bool is_text = true;  // false: a special token, which never matches as text
  bool is_end = false;  // ends generation: allowed where the grammar may end
};

class token_trie;
using token_trie_ptr = std::shared_ptr<const token_trie>;

// Of a tokenizer's pieces; of given tokens, by id.
token_trie_ptr make_token_trie(const tokenizer& tokenizer);
token_trie_ptr make_token_trie(std::span<const vocabulary_token> tokens);

}  // namespace troupe::grammar
