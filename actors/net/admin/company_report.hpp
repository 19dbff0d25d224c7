// What operators are told of the company: its tree of actors and how each of them is.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::net {

enum class actor_state { starting, running, stopped };

// A role of the supervision tree and the actor that fills it.
struct actor_report {
  actor_state state = actor_state::stopped;
  std::uint64_t restarts = 0;                                       // of the role
  bool is_busy = false;                                             // a message is in hand
  std::size_t mailbox = 0;                                          // messages behind that one
  std::optional<std::chrono::nanoseconds> last_message = {};        // its age; nothing: none has come
  std::vector<std::pair<std::string, std::uint64_t>> handled = {};  // messages by name, of this actor
};

// A group of the tree.
struct group_report {
  std::string strategy = {};      // "one_for_one", "rest_for_one"
  std::int32_t max_restarts = 0;  // within the period; one more ends the group
  std::chrono::nanoseconds period{0};
  std::size_t recent_restarts = 0;  // within the period
};

struct tree_report {
  std::string name = {};
  std::optional<group_report> group = {};  // else `actor` is told of
  actor_report actor = {};
  std::vector<tree_report> members = {};
};

struct company_report {
  std::string status;  // "ready", or why not
  actor_report supervisor;
  tree_report tree;
};

}  // namespace troupe::net
