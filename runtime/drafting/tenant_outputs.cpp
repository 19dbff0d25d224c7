#include "runtime/drafting/tenant_outputs.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

// A node, its entry in the table, and the room that the table keeps free.
constexpr std::size_t bytes_per_node = 40 + 24;
constexpr std::size_t bytes_per_token = 2 * sizeof(token_id);
// What a token of text may bring.
constexpr std::size_t most_per_token = 2 * bytes_per_node + bytes_per_token;

}  // namespace

tenant_outputs::tenant_outputs(const tenant_limits& limits)
    : limits_(limits), tree_(limits.max_depth, limits.hash_seed) {}

void tenant_outputs::add(std::vector<token_id> tokens) {
  const std::size_t most = limits_.max_bytes / 4 / most_per_token;
  if (tokens.size() > most) tokens.erase(tokens.begin(), tokens.end() - static_cast<std::ptrdiff_t>(most));
  if (limits_.max_requests == 0 || tokens.empty()) return;
  waiting_tokens_ += tokens.size();
  waiting_.push_back(std::move(tokens));
  // Who is slower than its requests forgets those that would be the next to be forgotten.
  while (waiting_.size() > 1 && (waiting_tokens_ > most || waiting_.size() > limits_.max_requests)) {
    const std::size_t oldest = taken_in_ > 0 ? 1 : 0;
    if (oldest + 1 == waiting_.size()) break;
    waiting_tokens_ -= waiting_[oldest].size();
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(oldest));
  }
}

bool tenant_outputs::work(std::size_t most) {
  while (!waiting_.empty() && most > 0) {
    if (taken_in_ == 0 && is_full()) {
      const std::size_t before = most;
      const std::size_t tokens = std::min<std::size_t>(before, 64);
      tree_.remove_oldest(tokens);
      most -= tokens;
      continue;
    }
    const std::vector<token_id>& next = waiting_.front();
    const std::size_t count = std::min(most, next.size() - taken_in_);
    tree_.append(std::span(next).subspan(taken_in_, count));
    taken_in_ += count;
    most -= count;
    if (taken_in_ < next.size()) break;
    tree_.end_sequence();
    waiting_tokens_ -= next.size();
    waiting_.pop_front();
    taken_in_ = 0;
  }
  return !waiting_.empty();
}

// Is there no room for the answer that waits, and is there an older one?
bool tenant_outputs::is_full() const {
  if (tree_.num_sequences() == 0) return false;
  if (tree_.num_sequences() >= limits_.max_requests) return true;
  return bytes() + waiting_.front().size() * most_per_token > limits_.max_bytes;
}

std::size_t tenant_outputs::bytes() const {
  return tree_.num_nodes() * bytes_per_node + tree_.num_tokens() * bytes_per_token +
         waiting_tokens_ * sizeof(token_id);
}

}  // namespace troupe
