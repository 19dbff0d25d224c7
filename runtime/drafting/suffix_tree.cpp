#include "runtime/drafting/suffix_tree.hpp"

#include <algorithm>

namespace troupe {

suffix_tree::suffix_tree(std::int32_t max_depth, std::uint64_t hash_seed)
    : max_depth_(max_depth), children_(hash_seed), leaves_(static_cast<std::size_t>(max_depth)) {
  take_node();  // the root
}

void suffix_tree::append(std::span<const token_id> tokens) {
  for (const token_id token : tokens) append_token(token);
}

void suffix_tree::append_token(token_id token) {
  if (!is_open_) {
    is_open_ = true;
    open_begin_ = text_.end();
  }
  text_.push_back(token);
  active_.push_back({});
  // What is new stays new with more tokens before it: the suffixes that become leaves are the longest ones.
  std::size_t num_leaves = 0;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const auto length = static_cast<std::int32_t>(active_.size() - i);
    num_leaves += advance(i, token, length) ? 1 : 0;
  }
  const bool is_whole = active_.size() == static_cast<std::size_t>(max_depth_) && num_leaves == 0;
  active_.erase(active_.begin(), active_.begin() + static_cast<std::ptrdiff_t>(is_whole ? 1 : num_leaves));
}

// The suffix, `length` tokens with `token`, goes on with it. True where this makes it a leaf.
bool suffix_tree::advance(std::size_t which, token_id token, std::int32_t length) {
  active_point& point = active_[which];
  const position here = text_.end() - 1;
  node& edge = at(point.node);
  if (point.offset < edge.length) {
    if (text_[edge.begin + static_cast<position>(point.offset)] != token) {
      add_leaf(split(which, here), token, length);
      return true;
    }
    if (++point.offset == edge.length) edge.begin = here + 1 - static_cast<position>(edge.length);
    return false;
  }
  const std::int32_t child = children_.find(point.node, token);
  if (child == none) {
    add_leaf(point.node, token, length);
    return true;
  }
  ++at(child).count;
  ++edge.continued;
  prefer(point.node, child);
  point = {child, 1};
  if (at(child).length == 1) at(child).begin = here;
  return false;
}

// `length`: of the suffix that the leaf ends.
void suffix_tree::add_leaf(std::int32_t parent, token_id token, std::int32_t length) {
  const std::int32_t id = take_node();
  node& leaf = at(id);
  leaf.token = token;
  leaf.begin = text_.end() - 1;
  leaf.length = max_depth_ - (length - 1);
  leaf.count = 1;
  link(parent, id);
  ++at(parent).continued;
  prefer(parent, id);
  const position start = text_.end() - static_cast<position>(length) - open_begin_;
  leaves_[start % static_cast<position>(max_depth_)] = id;
}

// Divides the edge where the suffix stands, which ends before `end`. The other suffixes on the edge are
// shorter ones, which stand before it. Answers the new node.
std::int32_t suffix_tree::split(std::size_t which, position end) {
  const active_point point = active_[which];
  const std::int32_t id = take_node();
  node& upper = at(id);
  node& lower = at(point.node);
  put_in_place_of(point.node, id);
  upper.begin = end - static_cast<position>(point.offset);
  upper.length = point.offset;
  upper.count = lower.count;
  lower.begin += static_cast<position>(point.offset);
  lower.length -= point.offset;
  lower.token = text_[lower.begin];
  for (std::size_t i = which; i < active_.size(); ++i) {
    if (active_[i].node != point.node) continue;
    active_[i].node = id;
    --lower.count;
  }
  link(id, point.node);
  upper.continued = lower.count;
  upper.best = point.node;
  return id;
}

void suffix_tree::end_sequence() {
  if (!is_open_) return;
  is_open_ = false;
  const position end = text_.end();
  const position longest = std::min(end - open_begin_, static_cast<position>(max_depth_ - 1));
  for (position length = static_cast<position>(active_.size()) + 1; length <= longest; ++length) {
    node& leaf = at(leaves_[(end - length - open_begin_) % static_cast<position>(max_depth_)]);
    leaf.length = static_cast<std::int32_t>(end - leaf.begin);
  }
  for (std::size_t i = 0; i < active_.size(); ++i) {
    if (active_[i].offset < at(active_[i].node).length) split(i, end);
  }
  active_.clear();
  text_.push_back(separator);
  sequence_ends_.push_back(text_.end());
}

bool suffix_tree::remove_oldest(std::size_t most) {
  if (is_open_ || sequence_ends_.empty()) return true;
  const position end = sequence_ends_.front() - 1;
  for (; removed_to_ != end && most > 0; --most) remove_suffix(removed_to_++, end);
  if (removed_to_ != end) return false;
  removed_to_ = sequence_ends_.front();
  text_.drop_before(removed_to_);
  sequence_ends_.pop_front();
  return true;
}

// The edges that are left lie on the way of a newer suffix, the newest of which has named them: none of them
// names the text of a sequence that is gone.
void suffix_tree::remove_suffix(position begin, position end) {
  end = begin + std::min(end - begin, static_cast<position>(max_depth_));
  std::int32_t id = root;
  while (begin != end) {
    const std::int32_t child = children_.find(id, text_[begin]);
    node& parent = at(id);
    node& edge = at(child);
    --parent.continued;
    if (parent.best == child) parent.best = unknown;
    begin += static_cast<position>(edge.length);
    if (--edge.count == 0) {
      unlink(child);
      give_back(child);
      break;
    }
    id = child;
  }
  const node& last = at(id);
  if (id != root && last.continued == last.count && at(last.first_child).count == last.count)
    merge_with_only_child(id);
}

void suffix_tree::merge_with_only_child(std::int32_t id) {
  const node& upper = at(id);
  const std::int32_t child = upper.first_child;
  node& lower = at(child);
  children_.erase(id, lower.token);
  lower.begin -= static_cast<position>(upper.length);
  lower.length += upper.length;
  put_in_place_of(id, child);
  give_back(id);
}

}  // namespace troupe
