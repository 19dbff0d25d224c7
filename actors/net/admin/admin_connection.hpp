// One operator's connection, or a stranger's.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "actors/net/admin/operator_commands.hpp"
#include "actors/net/http/http_exchange.hpp"
#include "actors/net/options.hpp"
#include "actors/net/telemetry/stranger_log.hpp"

namespace troupe::net {

// What the connections of one server share. Lives on the io_context thread.
struct admin_shared {
  admin_shared(admin_options chosen, operator_commands& asked)
      : options(std::move(chosen)), commands(asked) {}
  admin_options options;
  operator_commands& commands;
  stranger_log strangers{"operators' port"};
};

class admin_connection final : public http_exchange {
 public:
  admin_connection(asio::io_context& context, tcp::socket socket, std::shared_ptr<admin_shared> shared);
  std::optional<std::chrono::steady_clock::time_point> unauthenticated_since() const override {
    return is_known_ ? std::nullopt : std::optional(came_);
  }

 private:
  // As http_exchange has it.
  asio::awaitable<bool> serve_request() override;
  asio::awaitable<bool> answer(const std::string& body);
  // A stranger has one time for all until its key.
  std::chrono::milliseconds time_for(std::chrono::milliseconds known) const;

  std::shared_ptr<admin_shared> shared_;
  const std::chrono::steady_clock::time_point came_ = std::chrono::steady_clock::now();
  bool is_known_ = false;  // its last request had the right key
};

}  // namespace troupe::net
