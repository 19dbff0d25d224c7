// The supervision tree of a running service, as its operators' port tells it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace troupe::cli {

// An actor, or a group of the tree, in the tree's order.
struct tree_row {
  std::string name;
  int depth = 0;
  bool is_group = false;
  std::string state = {};  // of an actor: "running", ...; of a group its strategy
  std::int64_t mailbox = 0;
  std::int64_t handled = 0;                 // messages of all kinds
  std::optional<double> last_message = {};  // its age in seconds
  std::int64_t restarts = 0;                // of an actor ever, of a group lately
};

// The body of GET /admin/actors. Errors: unavailable, where it is not such a body.
result<std::vector<tree_row>> read_actor_tree(const std::string& body);

// Lines of text under a heading, with the rates since `before`. Where they are more than `most` the groups
// are left out.
std::vector<std::string> actor_tree_lines(const std::vector<tree_row>& before,
                                          const std::vector<tree_row>& now, double elapsed, std::size_t most);

}  // namespace troupe::cli
