// A listening socket and the loop that takes clients from it.
#pragma once
#include <cstddef>
#include <functional>

#include "actors/net/asio.hpp"
#include "actors/net/options.hpp"
#include "runtime/result.hpp"

namespace troupe::net {

// Opens, binds and listens. Errors: io_error or invalid_argument, naming port and host.
result<tcp::acceptor> listen_on(asio::io_context& context, const listen_options& options);

// The same, or what `options.kept` gives. Errors: those of listen_on and of kept_listener::open.
result<tcp::acceptor> open_listener(asio::io_context& context, const listen_options& options);

// Whether the address could be listened on now, without doing so. Errors: those of open_listener.
result<void> check_address(const listen_options& options);

// How many of so many descriptors clients leave to the service itself: where they took them all, the next
// runner's process would find none.
std::size_t descriptors_kept(std::size_t limit);

// Ends it, and what waits for its clients. The system forgets a socket whose descriptor is closed only where
// no other one has it; before that a loop would still hear of it.
void close_listener(tcp::acceptor& acceptor);

// Hands every client to `on_client` until the acceptor is closed. When descriptors or memory run out, or
// `on_client` throws, it says so in the log, waits a little and goes on.
asio::awaitable<void> accept_clients(tcp::acceptor& acceptor, std::function<void(tcp::socket)> on_client);

}  // namespace troupe::net
