// What operators may ask of a running service, done.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/company.hpp"
#include "actors/net/admin/operator_commands.hpp"
#include "actors/net/keys_in_force.hpp"
#include "main/service/reloader.hpp"

namespace troupe::cli {

class admin_service final : public net::operator_commands {
 public:
  // Begins the orderly end.
  using ending = std::function<net::drain_order(std::optional<std::chrono::milliseconds> grace)>;

  admin_service(const company& served, const net::keys_in_force& key, ending end, reloader& reload);

  bool is_key(std::string_view text) const override;
  void describe(std::function<void(result<net::company_report>)> reply) override;
  net::drain_order drain(std::optional<std::chrono::milliseconds> grace) override;
  result<std::string> set_log_level(const std::string& level) override;
  void reload(std::function<void(const result<net::new_settings_report>&)> reply) override;

 private:
  const company& served_;
  const net::keys_in_force& key_;
  ending end_;
  reloader& reload_;
};

}  // namespace troupe::cli
