// A listening socket.
#pragma once
#include "actors/net/options.hpp"
#include "actors/net/sockets/asio.hpp"
#include "runtime/result.hpp"

namespace troupe::net {

// Opens, binds and listens. The sockets of its clients inherit TCP_NODELAY and SO_KEEPALIVE (Linux). Errors:
// io_error or invalid_argument, naming port and host.
result<tcp::acceptor> listen_on(asio::io_context& context, const listen_options& options);

// The same, or what `options.kept` gives. Errors: those of listen_on and of kept_listener::open.
result<tcp::acceptor> open_listener(asio::io_context& context, const listen_options& options);

// Whether the address could be listened on now, without doing so. Errors: those of open_listener.
result<void> check_address(const listen_options& options);

// Ends it, and what waits for its clients. The system forgets a socket whose descriptor is closed only where
// no other one has it; before that a loop would still hear of it.
void close_listener(tcp::acceptor& acceptor);

}  // namespace troupe::net
