#include "runtime/drafting/suffix_tree.hpp"

namespace troupe {

std::int32_t suffix_tree::take_node() {
  ++num_nodes_;
  if (free_ != none) {
    const std::int32_t id = free_;
    free_ = at(id).next;
    at(id) = {};
    return id;
  }
  const std::size_t id = num_nodes_ - 1;  // nothing is free: all that there are is in use
  if (id == chunks_.size() * chunk) chunks_.push_back(std::make_unique<node[]>(chunk));
  return static_cast<std::int32_t>(id);
}

void suffix_tree::give_back(std::int32_t id) {
  at(id).next = free_;
  free_ = id;
  --num_nodes_;
}

// Makes the node known by its first token.
void suffix_tree::link(std::int32_t parent, std::int32_t child) {
  node& up = at(parent);
  node& which = at(child);
  which.parent = parent;
  which.previous = none;
  which.next = up.first_child;
  if (up.first_child != none) at(up.first_child).previous = child;
  up.first_child = child;
  children_.insert(parent, which.token, child);
}

void suffix_tree::unlink(std::int32_t child) {
  const node& which = at(child);
  if (which.previous != none)
    at(which.previous).next = which.next;
  else
    at(which.parent).first_child = which.next;
  if (which.next != none) at(which.next).previous = which.previous;
  if (at(which.parent).best == child) at(which.parent).best = unknown;
  children_.erase(which.parent, which.token);
}

// `fresh` becomes a child instead of `old`, with the same first token.
void suffix_tree::put_in_place_of(std::int32_t old, std::int32_t fresh) {
  const node& before = at(old);
  node& after = at(fresh);
  after.parent = before.parent;
  after.token = before.token;
  after.next = before.next;
  after.previous = before.previous;
  node& up = at(after.parent);
  if (up.best == old) up.best = fresh;
  if (after.previous != none)
    at(after.previous).next = fresh;
  else
    up.first_child = fresh;
  if (after.next != none) at(after.next).previous = fresh;
  children_.replace(after.parent, after.token, fresh);
}

// The child's count has grown.
void suffix_tree::prefer(std::int32_t parent, std::int32_t child) {
  node& up = at(parent);
  if (up.best == unknown) return;
  if (up.best == none || at(child).count >= at(up.best).count) up.best = child;
}

std::int32_t suffix_tree::best_child(std::int32_t parent) {
  node& up = at(parent);
  if (up.best != unknown) return up.best;
  up.best = up.first_child;
  for (std::int32_t id = up.first_child; id != none; id = at(id).next) {
    if (at(id).count > at(up.best).count) up.best = id;
  }
  return up.best;
}

std::size_t suffix_tree::bytes() const {
  return chunks_.size() * chunk * sizeof(node) + children_.bytes() + text_.bytes();
}

}  // namespace troupe
