// What is scheduled: sequences with their parts in a step. Of the three shapes of a batch the first one.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/scheduler/sequence.hpp"

namespace troupe {

// In place of a place in the demand: a sequence that has the blocks which it needs.
inline constexpr std::int32_t not_demanded = -1;

// A sequence's part in a step: its next num_rows tokens, the last num_drafts of which are guesses. The last
// certain row and all behind it are sampled where no token is missing after it.
struct planned_rows {
  sequence* who = nullptr;
  std::int32_t num_rows = 0;
  std::int32_t num_drafts = 0;
  std::int32_t keep_free = 0;          // blocks that have to stay free beside it
  std::int32_t demand = not_demanded;  // its place in the demand and in the reservation
  // Once it is in a step: the position of the first token that is sampled, and whether one is.
  std::int32_t position = 0;
  bool sampled = false;
  bool granted = false;
  bool passes = false;              // another waiting request, which has to wait for others' prompts
  bool has_numbered_draft = false;  // draft::number
  bool has_draft_blocks = false;    // that its certain rows do not need, even where its drafts were dropped

  std::int32_t num_certain() const { return num_rows - num_drafts; }
  void keep_drafts(std::int32_t most) {
    const std::int32_t dropped = num_drafts - std::clamp(num_drafts, 0, std::max(most, 0));
    num_drafts -= dropped;
    num_rows -= dropped;
  }
};

// The sequences carry their sampling state and their lengths, the parts their tables: joining two batches
// joins all of it. Its memory is kept for the next step.
class schedule_batch {
 public:
  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }
  planned_rows& operator[](std::size_t i) { return rows_[i]; }
  const planned_rows& operator[](std::size_t i) const { return rows_[i]; }
  auto begin() { return rows_.begin(); }
  auto end() { return rows_.end(); }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }

  void clear() { rows_.clear(); }
  void push(const planned_rows& rows) { rows_.push_back(rows); }
  // The other's sequences come behind these; the other is empty then.
  void merge(schedule_batch& other) {
    rows_.insert(rows_.end(), other.rows_.begin(), other.rows_.end());
    other.rows_.clear();
  }
  // Keeps the parts that `keep` is true for, in order.
  template <class Keep>
  void filter(Keep keep) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (keep(rows_[i])) rows_[kept++] = rows_[i];
    rows_.resize(kept);
  }
  // Keeps those of requests that have not ended.
  void filter_unfinished() {
    filter([](const planned_rows& rows) { return !rows.who->ended; });
  }
  void swap(schedule_batch& other) noexcept { rows_.swap(other.rows_); }

 private:
  std::vector<planned_rows> rows_;
};

}  // namespace troupe
