// What the operators' server asks of the service: the seam between its sockets and the rest.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/result.hpp"

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

struct changed_setting {
  std::string name;
  std::optional<std::string> before;  // nothing where it is a secret
  std::optional<std::string> after;
};

// All calls come from the server's thread and return at once; a reply comes on any thread, exactly once.
class admin_port {
 public:
  virtual ~admin_port() = default;
  // In the same time whatever is wrong with it.
  virtual bool is_key(std::string_view text) const = 0;
  virtual void describe(std::function<void(result<company_report>)> reply) = 0;
  // Begins the orderly end of the service, as SIGTERM does; `grace`: in place of the usual one. Gives the
  // grace in force: the first call counts.
  virtual std::chrono::milliseconds drain(std::optional<std::chrono::milliseconds> grace) = 0;
  // Gives the level before. Errors: invalid_argument, naming the levels.
  virtual result<std::string> set_log_level(const std::string& level) = 0;
  // Reads the settings anew and takes up what is different: all, or nothing, and then the error says why.
  virtual void reload(std::function<void(const result<std::vector<changed_setting>>&)> reply) = 0;
};

}  // namespace troupe::net
