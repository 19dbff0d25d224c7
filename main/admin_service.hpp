// What operators may ask of a running service, done.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "actors/company.hpp"
#include "actors/net/admin_port.hpp"
#include "actors/net/key_digest.hpp"

namespace troupe::cli {

class admin_service final : public net::admin_port {
 public:
  // Begins the orderly end; gives the grace in force.
  using ending = std::function<std::chrono::milliseconds(std::optional<std::chrono::milliseconds> grace)>;

  admin_service(const company& served, net::key_digest key, ending end);

  bool is_key(std::string_view text) const override { return key_.matches(text); }
  void describe(std::function<void(result<net::company_report>)> reply) override;
  std::chrono::milliseconds drain(std::optional<std::chrono::milliseconds> grace) override;
  result<std::string> set_log_level(const std::string& level) override;

 private:
  const company& served_;
  net::key_digest key_;
  ending end_;
};

}  // namespace troupe::cli
