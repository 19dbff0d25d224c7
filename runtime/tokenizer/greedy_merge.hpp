// The merge loop that byte-pair encoding and SentencePiece's BPE share: repeatedly joins the neighbouring
// pair of the lowest rank, leftmost first (Sennrich et al., https://arxiv.org/abs/1508.07909), in O(n log n)
// by a heap over a linked list.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "runtime/request.hpp"

namespace troupe {

// One symbol: a token, or (id < 0) characters that are no token by themselves.
struct merge_symbol {
  std::string_view text;
  token_id id = -1;
};

// What a pair becomes.
struct merge_candidate {
  static constexpr std::uint32_t no_rank = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t rank = no_rank;
  token_id id = -1;
};

// Keeps its buffers between calls. At most 2^32 - 2 symbols.
class greedy_merger {
 public:
  // `lookup(left, right)` -> merge_candidate; the texts of neighbours are adjacent in memory.
  // Merges `symbols` in place.
  template <class Lookup>
  void run(std::vector<merge_symbol>& symbols, const Lookup& lookup) {
    if (symbols.size() < 2) return;
    start(symbols.size());
    for (std::uint32_t at = 0; at + 1 < symbols.size(); ++at) set_candidate(symbols, at, lookup);
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>{});
    heaped_ = true;
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
      const auto at = static_cast<std::uint32_t>(heap_.back());
      const auto rank = static_cast<std::uint32_t>(heap_.back() >> 32U);
      heap_.pop_back();
      if (nodes_[at].candidate.rank != rank) continue;  // the pair has changed since
      join(symbols, at);
      if (nodes_[at].next != none) set_candidate(symbols, at, lookup);
      if (nodes_[at].previous != none) set_candidate(symbols, nodes_[at].previous, lookup);
    }
    compact(symbols);
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  struct node {
    std::uint32_t previous = none, next = none;
    merge_candidate candidate;  // of this symbol with the next one
  };

  void start(std::size_t count) {
    heap_.clear();
    heaped_ = false;
    nodes_.assign(count, {});
    for (std::size_t at = 0; at + 1 < count; ++at) {
      nodes_[at].next = static_cast<std::uint32_t>(at + 1);
      nodes_[at + 1].previous = static_cast<std::uint32_t>(at);
    }
  }

  template <class Lookup>
  void set_candidate(const std::vector<merge_symbol>& symbols, std::uint32_t at, const Lookup& lookup) {
    auto& candidate = nodes_[at].candidate;
    candidate = lookup(symbols[at], symbols[nodes_[at].next]);
    if (candidate.rank == merge_candidate::no_rank) return;
    heap_.push_back(std::uint64_t{candidate.rank} << 32U | at);
    if (heaped_) std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
  }

  void join(std::vector<merge_symbol>& symbols, std::uint32_t at) {
    auto& left = nodes_[at];
    auto& right = nodes_[left.next];
    auto& symbol = symbols[at];
    symbol = {{symbol.text.data(), symbol.text.size() + symbols[left.next].text.size()}, left.candidate.id};
    left.candidate = {};
    right.candidate = {};
    left.next = right.next;
    if (left.next != none) nodes_[left.next].previous = at;
  }

  void compact(std::vector<merge_symbol>& symbols) {
    std::size_t count = 0;
    for (std::uint32_t at = 0; at != none; at = nodes_[at].next) symbols[count++] = symbols[at];
    symbols.resize(count);
  }

  std::vector<node> nodes_;
  std::vector<std::uint64_t> heap_;  // rank and position, the lowest on top; stale entries are skipped
  bool heaped_ = false;
};

}  // namespace troupe
