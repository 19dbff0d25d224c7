// One operator's connection: reads small requests one after another, answers each before it reads the next.
#pragma once
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <string>

#include "actors/net/admin_port.hpp"
#include "actors/net/async_event.hpp"
#include "actors/net/connection.hpp"
#include "actors/net/deadline.hpp"
#include "actors/net/http_message.hpp"
#include "actors/net/options.hpp"
#include "actors/net/stranger_log.hpp"

namespace troupe::net {

// What the connections of one server share. Lives on the io_context thread.
struct admin_shared {
  admin_options options;
  admin_port& port;
  stranger_log strangers = {};
};

class admin_connection final : public connection {
 public:
  admin_connection(asio::io_context& context, tcp::socket socket, std::shared_ptr<admin_shared> shared);
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
  std::shared_ptr<admin_shared> shared_;
  boost::beast::flat_buffer buffer_;
  deadline deadline_;
  async_event wake_;
  request_line request_;
  bool gone_ = false;
  bool finishing_ = false;
  bool idle_ = true;       // between two requests
  bool is_known_ = false;  // it has shown the right key
};

}  // namespace troupe::net
