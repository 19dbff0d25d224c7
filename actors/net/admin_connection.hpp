// One operator's connection: reads small requests one after another, answers each before it reads the next.
#pragma once
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "actors/net/admin_port.hpp"
#include "actors/net/async_event.hpp"
#include "actors/net/connection.hpp"
#include "actors/net/deadline.hpp"
#include "actors/net/http_message.hpp"

namespace troupe::net {

// Who came without the key, in the log: a line now and then, however many they are. Lives on the io_context
// thread.
class stranger_log {
 public:
  void add(const std::string& address);

 private:
  std::uint64_t count_ = 0;
  std::chrono::steady_clock::time_point quiet_until_{};
};

class admin_connection final : public connection {
 public:
  admin_connection(asio::io_context& context, tcp::socket socket, admin_port& port,
                   std::shared_ptr<stranger_log> strangers);
  asio::awaitable<void> run() override;
  void finish() override;
  void close() override;

 private:
  using request_parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  // Each returns false where the connection has to end. Arguments are references to what the caller keeps
  // while it awaits, as in http_connection.
  asio::awaitable<bool> serve_request();
  asio::awaitable<bool> wait_for_request();
  asio::awaitable<bool> answer(const std::string& body);
  asio::awaitable<bool> respond(const http_response& response);
  // To a request that was not read to its end.
  asio::awaitable<bool> refuse(const http_response& response);
  asio::awaitable<bool> refuse_unreadable(asio_error why);
  std::string peer() const;

  asio::io_context& context_;
  tcp::socket socket_;
  admin_port& port_;
  std::shared_ptr<stranger_log> strangers_;
  boost::beast::flat_buffer buffer_;
  deadline deadline_;
  async_event wake_;
  request_line request_;
  bool gone_ = false;
  bool finishing_ = false;
  bool idle_ = true;  // between two requests
};

}  // namespace troupe::net
