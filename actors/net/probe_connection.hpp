// A client of HTTP beyond the limit of connections: a probe or a scrape is answered all the same, so that a
// crowd does not make a service that is well look dead; anything else is told that there are too many.
#pragma once
#include <memory>

#include "actors/net/http_connection.hpp"

namespace troupe::net {

class probe_connection final : public http_exchange {
 public:
  probe_connection(asio::io_context& context, tcp::socket socket, std::shared_ptr<http_shared> shared);

 private:
  asio::awaitable<bool> serve_request() override;

  std::shared_ptr<http_shared> shared_;
};

}  // namespace troupe::net
