// A listening socket that outlives whoever takes clients from it: between two servers of the same port
// clients wait in its queue, and none is refused.
#pragma once
#include <cstdint>
#include <mutex>

#include "actors/net/options.hpp"
#include "actors/net/sockets/asio.hpp"
#include "runtime/result.hpp"

namespace troupe::net {

// Any thread.
class kept_listener {
 public:
  kept_listener() = default;
  ~kept_listener() { close(); }
  kept_listener(const kept_listener&) = delete;
  kept_listener& operator=(const kept_listener&) = delete;

  // The first call listens as `options` say, the others give another descriptor of the same socket whatever
  // these say. Errors: those of listen_on; unavailable after close(); io_error where no descriptor is left.
  result<tcp::acceptor> open(asio::io_context& context, const listen_options& options);
  // The port, once it is open.
  std::uint16_t port() const;
  // For good: the socket ends with the last server that has it.
  void close();

 private:
  mutable std::mutex mutex_;
  int descriptor_ = -1;
  bool is_closed_ = false;
};

}  // namespace troupe::net
