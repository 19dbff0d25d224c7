// A connection as every server of HTTP keeps it: requests are read one after another, each within its limits,
// and each is answered before the next one is read.
#pragma once
#include <atomic>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "actors/net/http/growing_body.hpp"
#include "actors/net/http/http_message.hpp"
#include "actors/net/options.hpp"
#include "actors/net/sockets/async_event.hpp"
#include "actors/net/sockets/connection.hpp"
#include "actors/net/sockets/deadline.hpp"
#include "runtime/result.hpp"

namespace troupe::net {

// What may not change while a server works.
struct exchange_bounds {
  std::size_t max_header_bytes = 16U << 10U;
  std::chrono::milliseconds linger_timeout{2'000};
};

// What who asks for too much is told, of all bodies and of what is made of them.
inline const error too_many_large_bodies{error_code::unavailable, "too many large bodies at the moment"};

class http_exchange : public connection {
 public:
  asio::awaitable<void> run() final;
  void finish(const ending& how) final;
  void close() final;
  // Between two requests it is closed without a word (RFC 9112, 9.5), and where an answer is on its way.
  void give_way(const error& why) final;

 protected:
  using request_parser = boost::beast::http::request_parser<growing_body>;
  using request_header = boost::beast::http::request<growing_body>;

  // `limits` may change meanwhile; they outlive the connection.
  http_exchange(asio::io_context& context, tcp::socket socket, const connection_limits& limits,
                const exchange_bounds& bounds);

  // Reads a request and answers it. This and all that follow return false where the connection has to end.
  // Arguments are references to what the caller keeps while it awaits: GCC 12 may destroy a temporary in a
  // co_await expression twice.
  virtual asio::awaitable<bool> serve_request() = 0;
  // Hears of every header that is there, also where its request cannot be read.
  virtual void note_header(const request_header&) {}
  // Hears of every answer that is an error, before it is sent.
  virtual void note_refusal(const http_response&) const {}

  asio::awaitable<bool> wait_for_request(std::chrono::milliseconds within);
  // Fills in request_, whatever all servers want of a header. Where there is no header the client is told.
  asio::awaitable<bool> read_header(request_parser& parser, std::chrono::milliseconds within);
  // `has_room` is asked as bytes come. Where it says no, or there is no body, the client is told.
  asio::awaitable<bool> read_body(request_parser& parser, const std::function<bool()>& has_room);
  // What a body of JSON may not have in its header.
  static std::optional<http_response> refuse_fields(const request_header& header);

  // Since when it waits for the request behind the last one. Nothing: some of that has come, or there was
  // none.
  std::optional<std::chrono::steady_clock::time_point> waiting_since() const;

  // An answer to a request that was read to its end.
  asio::awaitable<bool> respond(const http_response& response);
  // The same in two steps, where writing it out is much: serialize(response, request_) may go to another
  // thread once prepare() was called.
  void prepare(const http_response& response);
  asio::awaitable<bool> send(const std::string& text);
  // To one that was not: lets the client read it, then ends the connection.
  asio::awaitable<bool> refuse(const http_response& response);
  // To one whose header alone was read: whichever of the two it takes.
  asio::awaitable<bool> refuse_header(const request_parser& parser, const http_response& response);
  asio::awaitable<bool> write(const std::string& text);
  void leave();  // the client is gone or must go: wakes whoever waits
  // Everything is said: lets the client read it.
  asio::awaitable<void> let_read();

  static constexpr std::size_t read_ahead_bytes = 64U << 10U;
  static constexpr std::size_t read_size = 4096;

  asio::io_context& context_;
  tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
  deadline deadline_;
  async_event wake_;
  request_line request_;
  bool input_ended_ = false;        // the client sends nothing more
  std::size_t sent_ahead_ = 0;      // bytes of the next answer that are with the client already
  std::atomic<bool> gone_ = false;  // read by other threads, too
  std::optional<ending> ending_;
  bool has_asked_ = false;      // bytes of a request have come
  bool has_given_way_ = false;  // was told so: nothing may be said any more

 private:
  // Of the request behind the last one, so that waiting_since() knows; of the first one not.
  asio::awaitable<bool> wait_for_bytes();
  std::string_view bytes_read() const;
  void take_name(std::string_view name);
  asio::awaitable<bool> refuse_unreadable(asio_error why);
  std::optional<http_response> explain(const asio_error& why) const;  // nothing where nobody listens
  // To read what has to come, which is no more than the server's end leaves.
  std::chrono::milliseconds time_for(std::chrono::milliseconds usual) const;

  const connection_limits& limits_;
  const exchange_bounds bounds_;
  enum class phase { idle, reading, answering };
  phase phase_ = phase::idle;
  std::optional<std::chrono::steady_clock::time_point> idle_since_;
  std::chrono::steady_clock::time_point ends_;  // where it is to end: what it reads
};

}  // namespace troupe::net
