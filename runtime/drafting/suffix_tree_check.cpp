#include <fmt/format.h>

#include <algorithm>

#include "runtime/drafting/suffix_tree.hpp"

namespace troupe {

std::string suffix_tree::check() const {
  std::vector<std::int32_t> open{root};
  std::size_t reached = 0;
  while (!open.empty()) {
    const std::int32_t id = open.back();
    open.pop_back();
    ++reached;
    if (reached > num_nodes_) return "more nodes are reached than are in use";
    if (std::string wrong = check_node(id); !wrong.empty()) return fmt::format("node {}: {}", id, wrong);
    for (std::int32_t child = at(id).first_child; child != none; child = at(child).next)
      open.push_back(child);
  }
  if (reached != num_nodes_) return fmt::format("{} of {} nodes are reached", reached, num_nodes_);
  if (children_.size() + 1 != num_nodes_)
    return fmt::format("{} nodes, {} entries that lead to them", num_nodes_, children_.size());
  if (num_nodes_ > 2 * std::size_t{text_.size()} + 1)
    return fmt::format("{} nodes for {} tokens", num_nodes_, text_.size());
  return {};
}

std::string suffix_tree::check_node(std::int32_t id) const {
  const node& which = at(id);
  std::uint64_t continued = 0;
  std::uint32_t highest = 0;
  std::int32_t previous = none;
  for (std::int32_t child = which.first_child; child != none; child = at(child).next) {
    if (at(child).parent != id) return fmt::format("its child {} has another parent", child);
    if (at(child).previous != previous) return fmt::format("its child {} has another sibling", child);
    if (children_.find(id, at(child).token) != child) return fmt::format("its child {} is not found", child);
    continued += at(child).count;
    highest = std::max(highest, at(child).count);
    previous = child;
  }
  if (continued != which.continued) return fmt::format("continued {}, not {}", which.continued, continued);
  if (which.best != unknown && (which.best == none ? highest != 0 : at(which.best).count != highest))
    return fmt::format("its best child is not the one with {}", highest);
  if (id == root) return {};

  if (which.count == 0 || which.count < continued)
    return fmt::format("count {}, children {}", which.count, continued);
  const std::int32_t length = length_of(which);
  if (length < 1) return "an edge without tokens";
  if (which.begin - text_.begin() >= text_.size()) return "an edge outside of the text";
  if (text_[which.begin] != which.token) return "an edge that begins with another token";
  for (std::int32_t i = 0; i < length; ++i) {
    if (text_[which.begin + static_cast<position>(i)] == separator) return "an edge across two sequences";
  }
  return {};
}

}  // namespace troupe
