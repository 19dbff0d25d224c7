// Who is started after whom, who is started again when somebody ends, and when that is given up: the rules of
// Erlang/OTP's supervisors (Armstrong, "Making reliable distributed systems in the presence of software
// errors", 2003; OTP design principles, "Supervisor behaviour") as plain code. It starts and stops nobody.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "runtime/request.hpp"

namespace troupe {

enum class restart_strategy {
  one_for_one,   // who ended is started again
  rest_for_one,  // and all those of the group that were started after it
};

// More restarts than `most` within the period are the end of the group: its own parent is to help.
struct restart_intensity {
  std::int32_t most = 5;
  std::chrono::nanoseconds period = std::chrono::seconds(60);
};

// A role, filled by one actor at a time; or a group of roles and groups, in the order in which they start.
struct supervised {
  std::string name = {};
  restart_strategy strategy = restart_strategy::one_for_one;
  restart_intensity intensity = {};
  std::vector<supervised> members = {};  // of a group
  // A group that the others do without: with too many restarts it is left out, and no parent has to help,
  // until it is started again with those before it.
  bool is_dispensable = false;

  static supervised role(std::string name) { return {.name = std::move(name)}; }
};

class supervision_tree {
 public:
  // Names are unique.
  explicit supervision_tree(supervised root);
  ~supervision_tree();
  supervision_tree(supervision_tree&&) noexcept;
  supervision_tree& operator=(supervision_tree&&) noexcept;

  // A role more, behind the others of this group.
  void add(const std::string& group, std::string role);
  // All roles, in the order in which they start.
  std::vector<std::string> roles() const;

  // A group or a role as it stands at `now`.
  struct outline {
    std::string name;
    bool is_group = false;
    restart_strategy strategy = restart_strategy::one_for_one;
    restart_intensity intensity = {};
    std::size_t recent_restarts = 0;  // of its members, within the period
    std::vector<outline> members = {};
  };
  outline describe(steady_time now) const;

  struct verdict {
    bool gives_up = false;     // nobody is left to help
    bool is_left_out = false;  // the role stays away
    // In this order; who of them still works is stopped before, in reverse.
    std::vector<std::string> restarts = {};
  };
  // This role has ended. An end that is excused counts for no intensity. An unknown role restarts nobody.
  verdict ended(const std::string& role, steady_time now, bool is_excused = false);

 private:
  struct node;
  static node* find(node& from, const std::string& name);
  static void add_roles(const node& from, std::vector<std::string>& roles);
  static outline describe(const node& from, steady_time now);

  std::unique_ptr<node> root_;
};

}  // namespace troupe
