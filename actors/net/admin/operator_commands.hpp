// What the operators' server asks of the service: the seam between its sockets and the rest.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/net/admin/company_report.hpp"
#include "runtime/result.hpp"

namespace troupe::net {

struct changed_setting {
  std::string name;
  std::optional<std::string> before;  // nothing where it is a secret
  std::optional<std::string> after;
};

// What a reload has made of the sources of the settings.
struct new_settings_report {
  std::vector<changed_setting> changes;
  std::vector<std::string> overridden;  // "port (troupe.toml:3) by TROUPE_PORT": read, and of no effect
  std::vector<std::string> warnings;
};

struct drain_order {
  std::chrono::milliseconds grace{0};  // in force
  bool is_first = true;                // else the service was ending already, and this changes nothing
};

// All calls come from the server's thread and return at once; a reply comes on any thread, exactly once.
class operator_commands {
 public:
  virtual ~operator_commands() = default;
  // In the same time whatever is wrong with it.
  virtual bool is_key(std::string_view text) const = 0;
  virtual void describe(std::function<void(result<company_report>)> reply) = 0;
  // Begins the orderly end of the service, as SIGTERM does; `grace`: in place of the usual one. The
  // first call counts.
  virtual drain_order drain(std::optional<std::chrono::milliseconds> grace) = 0;
  // Gives the level before. Errors: invalid_argument, naming the levels.
  virtual result<std::string> set_log_level(const std::string& level) = 0;
  // Reads the settings anew and takes up what is different: all, or nothing, and then the error says why.
  virtual void reload(std::function<void(const result<new_settings_report>&)> reply) = 0;
};

}  // namespace troupe::net
