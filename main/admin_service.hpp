// What operators may ask of a running service, done.
#pragma once
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/company.hpp"
#include "actors/net/admin_port.hpp"
#include "actors/net/key_digest.hpp"

namespace troupe::cli {

class admin_service final : public net::admin_port {
 public:
  // Begins the orderly end; gives the grace in force.
  using ending = std::function<std::chrono::milliseconds(std::optional<std::chrono::milliseconds> grace)>;

  // Begins a reload; the reply comes once, on any thread.
  using reloading =
      std::function<void(std::function<void(const result<std::vector<net::changed_setting>>&)>)>;

  admin_service(const company& served, net::key_digest key, ending end, reloading reload);

  // From now on no other will do. Any thread.
  void set_key(net::key_digest key);

  bool is_key(std::string_view text) const override;
  void describe(std::function<void(result<net::company_report>)> reply) override;
  std::chrono::milliseconds drain(std::optional<std::chrono::milliseconds> grace) override;
  result<std::string> set_log_level(const std::string& level) override;
  void reload(std::function<void(const result<std::vector<net::changed_setting>>&)> reply) override;

 private:
  const company& served_;
  mutable std::mutex mutex_;
  net::key_digest key_;
  ending end_;
  reloading reload_;
};

}  // namespace troupe::cli
