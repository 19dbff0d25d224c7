// The loop that takes clients from a listening socket.
#pragma once
#include <cstddef>
#include <functional>

#include "actors/net/sockets/asio.hpp"

namespace troupe::net {

// How many of so many descriptors clients leave to the service itself: where they took them all, the next
// runner's process would find none.
std::size_t descriptors_kept(std::size_t limit);

struct client_desk {
  std::function<void(tcp::socket)> admit;
  std::function<bool()> speaks_first;  // whether a client is now told something before it asks
};

// Admits every client until the acceptor is closed, but for those who before their turn have left, or have
// ended their sending without a byte where nobody speaks first. When descriptors or memory run out, or
// `admit` throws, it says so in the log, waits a little and goes on.
asio::awaitable<void> accept_clients(tcp::acceptor& acceptor, client_desk desk);

}  // namespace troupe::net
