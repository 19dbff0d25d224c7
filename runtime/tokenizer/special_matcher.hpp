// Finds tokens that are written out in a text, like "<|im_start|>": the longest one at the leftmost place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/request.hpp"

namespace troupe {

// A trie over bytes: a position where no token begins costs one table look, whatever the number of tokens.
class special_matcher {
 public:
  special_matcher() : nodes_(1) {}

  // `always`: found even where special tokens are not asked for (user-defined tokens). An empty text is
  // ignored.
  void add(std::string_view text, token_id id, bool always);

  struct match {
    std::size_t begin = 0, size = 0;
    token_id id = 0;
  };
  // The next match at or after `from`.
  std::optional<match> find(std::string_view text, std::size_t from, bool parse_special) const;

 private:
  struct node {
    token_id id = -1;  // of the token that ends here
    bool always = false;
  };
  std::optional<std::uint32_t> child(std::uint32_t parent, unsigned char byte) const;

  std::vector<node> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // parent * 256 + byte -> node
  bool first_bytes_[256] = {};
};

}  // namespace troupe
