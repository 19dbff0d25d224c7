// The vocabulary as the matcher sees it: the bytes of every token that is text, as a trie in one array, so
// that all tokens with an impossible beginning are passed over at once. Beside it, sets of tokens by what
// they are made of, as llguidance's slicer has them: the tokens inside of a string are a few words' logic,
// not a walk.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/byte_set.hpp"
#include "runtime/request.hpp"
#include "runtime/result.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe::grammar {

struct vocabulary_token {
  std::string_view bytes;
  bool is_text = true;  // false: a special token, which never matches as text
  bool is_end = false;  // ends generation: allowed where the grammar may end
};

// Groups of characters: each ASCII control that JSON names, the other controls, the space, each ASCII
// punctuation mark, digits, capital and small letters, whole characters past ASCII, and bytes that are no
// whole character.
struct character_groups {
  static constexpr unsigned letters = 39, past_ascii = 40, broken = 41, count = 43;
  // Of a byte below 128.
  static unsigned of(unsigned char byte);
};

// Immutable: shared by all grammars and threads.
class token_trie {
 public:
  struct node {
    std::uint32_t end = 0;  // past the last node below
    token_id token = -1;    // the first with exactly these bytes
    std::uint16_t depth = 0;
    std::uint8_t byte = 0;
    std::uint8_t max_characters = 0;  // of the tokens at and below this node, 255 for more
  };

  // A word of a mask, of few tokens: those without any are left out.
  struct mask_word {
    std::uint32_t index = 0;
    std::uint32_t bits = 0;
  };

  explicit token_trie(std::span<const vocabulary_token> tokens);

  std::size_t vocab_size() const { return offsets_.size() - 1; }
  std::size_t num_words() const { return (vocab_size() + 31) / 32; }
  // In depth-first order, children by byte; node 0 is the root.
  std::span<const node> nodes() const { return nodes_; }
  // [node]: one bit for each character group in the tokens at and below.
  std::span<const std::uint64_t> groups() const { return groups_; }
  std::size_t max_depth() const { return max_depth_; }
  // The bytes of all tokens that are text.
  const byte_set& alphabet() const { return alphabet_; }
  // The next token of the same bytes, or -1.
  token_id next_same(token_id token) const { return next_same_[static_cast<std::size_t>(token)]; }
  // Empty for special tokens.
  std::string_view bytes(token_id token) const {
    const auto i = static_cast<std::size_t>(token);
    return std::string_view(bytes_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
  }
  std::span<const token_id> end_tokens() const { return end_tokens_; }
  bool is_end(token_id token) const;
  // Of JSON: the tokens that may begin or end a string, or have a comma as their last character that is not
  // white space, so that a member's name may end with them, begin, or be what comes next; those of them with
  // two such places; those with an escape of a string.
  std::span<const mask_word> may_end_a_name() const { return may_end_a_name_; }
  std::span<const mask_word> may_end_names() const { return may_end_names_; }
  std::span<const mask_word> with_escapes() const { return with_escapes_; }

  // [word]: the tokens made of these groups of characters alone; text tokens of at most n characters.
  std::vector<std::uint32_t> made_of(std::uint64_t groups) const;
  std::span<const std::uint32_t> of_characters(std::size_t n) const {
    return up_to_characters_[n < up_to_characters_.size() ? n : up_to_characters_.size() - 1];
  }
  std::size_t max_characters() const { return up_to_characters_.size() - 1; }

 private:
  using mask = std::vector<std::uint32_t>;
  void add_nodes(std::span<const token_id> sorted);
  void add_sets(std::span<const token_id> sorted);
  void add_ends_of_names(std::span<const token_id> sorted);

  std::string bytes_;
  std::vector<std::uint32_t> offsets_;  // [token + 1]
  std::vector<node> nodes_;
  std::vector<std::uint64_t> groups_;
  std::vector<token_id> next_same_, end_tokens_;
  std::array<mask, character_groups::count> with_group_;
  std::vector<mask> up_to_characters_;
  mask text_;
  std::vector<mask_word> may_end_a_name_, may_end_names_, with_escapes_;
  std::size_t max_depth_ = 0;
  byte_set alphabet_;
};
using token_trie_ptr = std::shared_ptr<const token_trie>;

// Of a tokenizer's pieces; of given tokens, by id.
token_trie_ptr make_token_trie(const tokenizer& tokenizer);
token_trie_ptr make_token_trie(std::span<const vocabulary_token> tokens);
// Token b is byte b, token 256 ends: for whole texts, whatever the model. One for the whole process.
const token_trie_ptr& byte_token_trie();

}  // namespace troupe::grammar
