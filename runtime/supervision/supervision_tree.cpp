#include "runtime/supervision/supervision_tree.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

struct supervision_tree::node {
  supervised what;  // without its members
  bool is_group = false;
  node* parent = nullptr;
  std::vector<std::unique_ptr<node>> members = {};
  std::deque<steady_time> restarts = {};  // of its members, within the period

  node(supervised given, node* under) : is_group(!given.members.empty()), parent(under) {
    for (supervised& member : given.members)
      members.push_back(std::make_unique<node>(std::move(member), this));
    given.members.clear();
    what = std::move(given);
  }

  // Whether there may be one more.
  bool count_restart(steady_time now) {
    std::erase_if(restarts, [&](steady_time each) { return now - each >= what.intensity.period; });
    restarts.push_back(now);
    return restarts.size() <= static_cast<std::size_t>(what.intensity.most);
  }
};

supervision_tree::supervision_tree(supervised root)
    : root_(std::make_unique<node>(std::move(root), nullptr)) {}
supervision_tree::~supervision_tree() = default;
supervision_tree::supervision_tree(supervision_tree&&) noexcept = default;
supervision_tree& supervision_tree::operator=(supervision_tree&&) noexcept = default;

supervision_tree::node* supervision_tree::find(node& from, const std::string& name) {
  if (from.what.name == name) return &from;
  for (const auto& member : from.members)
    if (node* found = find(*member, name)) return found;
  return nullptr;
}

void supervision_tree::add_roles(const node& from, std::vector<std::string>& roles) {
  if (!from.is_group) roles.push_back(from.what.name);
  for (const auto& member : from.members) add_roles(*member, roles);
}

void supervision_tree::add(const std::string& group, std::string role) {
  node* found = find(*root_, group);
  if (found == nullptr) return;
  found->is_group = true;
  found->members.push_back(std::make_unique<node>(supervised::role(std::move(role)), found));
}

std::vector<std::string> supervision_tree::roles() const {
  std::vector<std::string> all;
  add_roles(*root_, all);
  return all;
}

supervision_tree::outline supervision_tree::describe(const node& from, steady_time now) {
  outline out{from.what.name, from.is_group, from.what.strategy, from.what.intensity};
  out.recent_restarts = static_cast<std::size_t>(std::ranges::count_if(
      from.restarts, [&](steady_time each) { return now - each < from.what.intensity.period; }));
  for (const auto& member : from.members) out.members.push_back(describe(*member, now));
  return out;
}

supervision_tree::outline supervision_tree::describe(steady_time now) const { return describe(*root_, now); }

// A group that has had too many restarts counts as ended itself, for the group above it.
supervision_tree::verdict supervision_tree::ended(const std::string& role, steady_time now, bool is_excused) {
  const node* gone = find(*root_, role);
  if (gone == nullptr || gone->is_group) return {};
  node* group = gone->parent;
  while (group != nullptr && !is_excused && !group->count_restart(now)) {
    group->restarts.clear();
    if (group->what.is_dispensable) return {.is_left_out = true};
    gone = group;
    group = group->parent;
  }
  if (group == nullptr) return {.gives_up = true};
  verdict out;
  bool reached = false;
  for (const auto& member : group->members) {
    reached = reached || member.get() == gone;
    const bool is_to_restart =
        group->what.strategy == restart_strategy::rest_for_one ? reached : member.get() == gone;
    if (is_to_restart) add_roles(*member, out.restarts);
  }
  return out;
}

}  // namespace troupe
