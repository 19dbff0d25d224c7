// What a server needs of each of its connections.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "actors/net/sockets/asio.hpp"
#include "actors/net/sockets/deadline.hpp"
#include "runtime/result.hpp"

namespace troupe::net {

// How a connection ends whose server ends.
struct ending {
  std::chrono::milliseconds rest;  // how long is waited for a request that has begun and not come whole
  error why;                       // what the client of one that does not come is told
};

// Lives on the io_context thread; its coroutine keeps it alive.
class connection {
 public:
  virtual ~connection() = default;
  // Serves the client to its end. Throws nothing but what allocation throws.
  virtual asio::awaitable<void> run() = 0;
  // End as soon as nothing is in flight.
  virtual void finish(const ending& how) = 0;
  // End now: run() returns soon.
  virtual void close() = 0;
  // End for another client. Who has been told nothing yet is told why, and may have a moment to read it:
  // close() ends that, too, and takes no word back that is written.
  virtual void give_way(const error& /*why*/) { close(); }
  // Since when it has been there without showing who it is. Nothing: it has, or need not.
  virtual std::optional<std::chrono::steady_clock::time_point> unauthenticated_since() const {
    return std::nullopt;
  }
  // Since when it waits for its client's next request, of which no byte has come. Nothing: it has something
  // to do, or may not be closed for another.
  virtual std::optional<std::chrono::steady_clock::time_point> idle_since() const { return std::nullopt; }
};

using connection_factory = std::function<std::shared_ptr<connection>(asio::io_context&, tcp::socket)>;

// Lets a client that still sends read the last words: closes our direction, then reads and drops until the
// client closes too or `limit` has passed. A client that sends nothing is the caller's to time out: this
// looks at the time only when bytes come.
asio::awaitable<void> linger(tcp::socket& socket, std::chrono::milliseconds limit);

// The last words where there is no time to wait: writes what the send buffer has room for, which is all of a
// few words where nothing else was written, and closes our direction. Drops what has come of the client's:
// where that is all, closing resets nothing, which would take the words from it.
void say_last(tcp::socket& socket, std::string_view words);

// Writes all of `bytes`, however long the client takes over it; `patience` is armed for `within` anew for
// each 64 KiB. Its expiry has to end the wait. False: the client is gone, or took less than that.
asio::awaitable<bool> write_all(tcp::socket& socket, asio::const_buffer bytes, deadline& patience,
                                std::chrono::milliseconds within);

}  // namespace troupe::net
