#include <algorithm>

#include "runtime/drafting/suffix_tree.hpp"

namespace troupe {

// Without what a leaf of the open sequence has yet to grow.
std::int32_t suffix_tree::length_of(const node& which) const {
  return static_cast<std::int32_t>(std::min(static_cast<position>(which.length), text_.end() - which.begin));
}

std::optional<suffix_tree::locus> suffix_tree::find(std::span<const token_id> pattern) const {
  locus to;
  std::int32_t length = 0;
  const node* edge = &at(root);
  for (const token_id token : pattern) {
    if (to.offset < length) {
      if (text_[edge->begin + static_cast<position>(to.offset)] != token) return std::nullopt;
      ++to.offset;
      continue;
    }
    to.node = children_.find(to.node, token);
    if (to.node == none) return std::nullopt;
    edge = &at(to.node);
    length = length_of(*edge);
    to.offset = 1;
  }
  to.match_length = static_cast<std::int32_t>(pattern.size());
  return to;
}

// What occurs, occurs without its first tokens too: so the length can be enclosed.
suffix_tree::locus suffix_tree::longest_match(std::span<const token_id> context) const {
  locus longest;
  std::size_t low = 0;
  const std::size_t most = std::min(context.size(), static_cast<std::size_t>(max_depth_));
  std::size_t high = most + 1;
  while (low + 1 < high) {
    const std::size_t length = high > most ? std::min(2 * low + 1, most) : (low + high) / 2;
    if (const auto found = find(context.last(length))) {
      longest = *found;
      low = length;
    } else {
      high = length;
    }
  }
  return longest;
}

suffix_tree::locus suffix_tree::repeated(std::int32_t length) const {
  const active_point& point = active_[active_.size() - static_cast<std::size_t>(length)];
  return {point.node, point.offset, length, true};
}

std::uint32_t suffix_tree::count_at(const locus& at_locus) const {
  return at(at_locus.node).count - (at_locus.is_own ? 1U : 0U);
}

std::uint32_t suffix_tree::occurrences(std::span<const token_id> pattern) const {
  const auto to = find(pattern);
  if (!to || to->node == root) return 0;
  std::uint32_t count = at(to->node).count;
  for (const active_point& point : active_) {
    if (point.node == to->node && point.offset < to->offset) --count;
  }
  return count;
}

void suffix_tree::continue_from(const locus& from, std::size_t most, float min_probability,
                                suffix_continuation& out) {
  out.clear();
  out.match_length = from.match_length;
  if (from.node == root) return;
  float product = 1.0F;
  const auto add = [&](token_id token, float probability, std::uint32_t count) {
    product *= probability;
    if (product < min_probability) return false;
    out.tokens.push_back(token);
    out.probabilities.push_back(probability);
    out.counts.push_back(count);
    return true;
  };

  std::int32_t id = from.node;
  std::int32_t offset = from.offset;
  std::uint32_t own = from.is_own ? 1 : 0;
  while (out.tokens.size() < most) {
    const node& edge = at(id);
    if (offset < length_of(edge)) {
      if (!add(text_[edge.begin + static_cast<position>(offset)], 1.0F, edge.count - own)) return;
      ++offset;
      continue;
    }
    const std::int32_t child = best_child(id);
    if (child == none) break;
    const float share = static_cast<float>(at(child).count) / static_cast<float>(edge.continued);
    if (!add(at(child).token, share, at(child).count)) return;
    id = child;
    offset = 1;
    own = 0;
  }
  // What continues the open sequence may go on into itself: a sequence that repeats itself goes on for ever.
  for (position next = at(id).begin + static_cast<position>(offset); out.tokens.size() < most; ++next) {
    const position beyond = next - text_.end();
    const bool is_stored = next - text_.begin() < text_.size();
    if (!is_stored && (!from.is_own || beyond >= out.tokens.size())) return;
    const token_id token = is_stored ? text_[next] : out.tokens[beyond];
    if (token == separator || !add(token, 1.0F, 1)) return;
  }
}

}  // namespace troupe
