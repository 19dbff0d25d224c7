// A suffix tree of bounded depth with counts, over sequences that come and go like a queue: the newest one
// grows token by token, the oldest is removed again. What usually followed a context is read from it: the
// method of SuffixDecoding (Oliaro et al., 2024, arXiv 2411.04975).
//
// A path from the root spells what occurs in the sequences, up to max_depth tokens; each edge holds a run of
// tokens that never divides, named by where it last occurred in the text. Construction follows Ukkonen in
// what it leaves undone: a suffix that has occurred only once is a leaf that grows by itself, and one that
// goes along an edge divides it only where it leaves it. So a token costs as many steps as the longest suffix
// that has occurred before has tokens: few in new text, max_depth at most. At most two nodes a token.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/drafting/child_table.hpp"
#include "runtime/drafting/token_window.hpp"
#include "runtime/request.hpp"

namespace troupe {

// What the counts say follows a match.
struct suffix_continuation {
  std::int32_t match_length = 0;           // tokens
  std::vector<token_id> tokens = {};       //
  std::vector<float> probabilities = {};   // [tokens] its share of what followed there, given those before it
  std::vector<std::uint32_t> counts = {};  // [tokens] how often it followed there

  void clear() {
    match_length = 0;
    tokens.clear();
    probabilities.clear();
    counts.clear();
  }
};

class suffix_tree {
 public:
  // max_depth: at least 2. Tokens must not be negative.
  explicit suffix_tree(std::int32_t max_depth, std::uint64_t hash_seed = 0);

  // Extends the newest sequence; begins one where that has been ended.
  void append(std::span<const token_id> tokens);
  void end_sequence();
  // Removes up to `most` suffixes of the oldest sequence; true when nothing of it is left. Does nothing, and
  // says true, while a sequence is open or where there is none.
  bool remove_oldest(std::size_t most);
  // Ended, and not wholly removed.
  std::size_t num_sequences() const { return sequence_ends_.size(); }
  std::size_t num_tokens() const { return text_.size(); }  // of all sequences, and a separator each

  // A place in the tree, to be used before the tree changes: so many tokens along the edge into a node.
  struct locus {
    std::int32_t node = 0;
    std::int32_t offset = 0;
    std::int32_t match_length = 0;
    bool is_own = false;  // one of its occurrences is the end of the open sequence
  };
  // The longest suffix of `context` that occurs (in tokens at most max_depth).
  locus longest_match(std::span<const token_id> context) const;
  // The longest suffix of the open sequence that has occurred before, and shorter ones of 1 ... its length.
  std::int32_t repeated_length() const { return static_cast<std::int32_t>(active_.size()); }
  locus repeated(std::int32_t length) const;
  // Where `pattern` leads to; nothing where it does not occur.
  std::optional<locus> find(std::span<const token_id> pattern) const;
  // How many occurrences have come as far as into the locus's edge, its own not counted.
  std::uint32_t count_at(const locus& at) const;
  // How often `pattern` (1 ... max_depth tokens) occurs.
  std::uint32_t occurrences(std::span<const token_id> pattern) const;

  // The likeliest next token, then the likeliest after it, ...: up to `most` tokens, as long as the product
  // of their probabilities is at least `min_probability`. Beyond max_depth it goes on along the newest
  // occurrence.
  void continue_from(const locus& at, std::size_t most, float min_probability, suffix_continuation& out);

  std::int32_t max_depth() const { return max_depth_; }
  std::size_t num_nodes() const { return num_nodes_; }
  std::size_t bytes() const;  // allocated
  // Empty, or what is wrong with the tree. Takes time in proportion to it.
  std::string check() const;

 private:
  using position = std::uint32_t;
  static constexpr token_id separator = -1;
  static constexpr std::int32_t root = 0;
  static constexpr std::int32_t none = 0;  // no child: the root is nobody's
  static constexpr std::int32_t unknown = -1;

  struct node {
    std::int32_t parent = 0;
    token_id token = 0;           // the first of its edge
    position begin = 0;           // where the tokens of its edge stand
    std::int32_t length = 0;      // of its edge; a leaf's may reach beyond the end of the open sequence
    std::uint32_t count = 0;      // suffixes that have entered the edge
    std::uint32_t continued = 0;  // sum of the children's counts
    std::int32_t best = none;     // the child with the highest count, the latest of those; or unknown
    std::int32_t first_child = none;
    std::int32_t next = none;  // siblings
    std::int32_t previous = none;
  };
  // A suffix of the open sequence that has occurred before ends here.
  struct active_point {
    std::int32_t node = 0;
    std::int32_t offset = 0;
  };

  node& at(std::int32_t id) const {
    return chunks_[static_cast<std::size_t>(id) / chunk][static_cast<std::size_t>(id) % chunk];
  }
  std::int32_t length_of(const node& which) const;
  std::int32_t take_node();
  void give_back(std::int32_t id);
  void link(std::int32_t parent, std::int32_t child);
  void unlink(std::int32_t child);
  void put_in_place_of(std::int32_t old, std::int32_t fresh);
  void prefer(std::int32_t parent, std::int32_t child);
  std::int32_t best_child(std::int32_t parent);

  void append_token(token_id token);
  bool advance(std::size_t which, token_id token, std::int32_t length);
  void add_leaf(std::int32_t parent, token_id token, std::int32_t depth);
  std::int32_t split(std::size_t which, position end);
  void remove_suffix(position begin, position end);
  void merge_with_only_child(std::int32_t id);
  std::string check_node(std::int32_t id) const;

  static constexpr std::size_t chunk = 256;

  std::int32_t max_depth_;
  child_table children_;
  std::vector<std::unique_ptr<node[]>> chunks_;
  std::int32_t free_ = none;  // linked by `next`
  std::size_t num_nodes_ = 0;

  token_window text_;                   // the sequences, a separator behind each that has ended
  std::deque<position> sequence_ends_;  // behind the separators
  position removed_to_ = 0;             // of the oldest sequence, the suffixes before are gone
  bool is_open_ = false;
  position open_begin_ = 0;
  std::vector<active_point> active_;  // the longest first, each one token shorter than the one before
  std::vector<std::int32_t> leaves_;  // of the newest suffixes, by position modulo max_depth
};

}  // namespace troupe
