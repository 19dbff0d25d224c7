// One HTTP client: reads requests one after another, answers each before it reads the next.
#pragma once
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "actors/net/async_event.hpp"
#include "actors/net/byte_budget.hpp"
#include "actors/net/connection.hpp"
#include "actors/net/deadline.hpp"
#include "actors/net/engine_port.hpp"
#include "actors/net/http_message.hpp"
#include "actors/net/http_routes.hpp"
#include "actors/net/live_generation.hpp"
#include "actors/net/options.hpp"
#include "actors/net/sse_stream.hpp"
#include "runtime/openai/json_reader.hpp"
#include "runtime/openai/request.hpp"

namespace troupe::net {

// What the connections of one server share. Lives on the io_context thread.
struct http_shared {
  http_shared(http_options chosen, engine_port& engine)
      : options(std::move(chosen)), port(engine), bodies(options.max_buffered_bytes) {}
  const http_options options;
  engine_port& port;
  byte_budget bodies;
  std::mt19937_64 random{std::random_device{}()};  // seeds for clients that give none, names of answers
};

class http_connection final : public connection, public std::enable_shared_from_this<http_connection> {
 public:
  http_connection(asio::io_context& context, tcp::socket socket, std::shared_ptr<http_shared> shared);
  asio::awaitable<void> run() override;
  void finish() override;
  void close() override;

 private:
  using request_parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  // Each returns false where the connection has to end.
  asio::awaitable<bool> serve_request();
  asio::awaitable<bool> wait_for_request();
  asio::awaitable<bool> read_header(request_parser& parser);
  asio::awaitable<bool> read_body(request_parser& parser, byte_budget::share& held);
  asio::awaitable<bool> answer_post(resource target, std::string body);
  asio::awaitable<bool> generate(resource target, openai::json body);
  asio::awaitable<bool> answer_whole(generation_request_ptr request, answer_plan plan);
  asio::awaitable<bool> answer_stream(generation_request_ptr request, answer_plan plan);
  asio::awaitable<bool> tokenize(openai::json body);
  asio::awaitable<bool> detokenize(openai::json body);
  // Waits for the one answer that `ask` hands on; nothing where the client has left meanwhile.
  template <class Reply>
  asio::awaitable<std::optional<result<Reply>>> reply_to(
      std::function<void(std::function<void(result<Reply>)>)> ask);

  asio::awaitable<bool> respond(http_response response);
  asio::awaitable<bool> write(std::string text);
  // For requests that were not read to their end: answers, then lets the client read it.
  asio::awaitable<bool> refuse(http_response response);
  std::optional<http_response> answer_to(asio_error why) const;
  asio::awaitable<bool> refuse_unreadable(asio_error why);

  // While an answer is made nothing is read but to see the client leave; what it sends early is kept for
  // later.
  void watch_client();
  asio::awaitable<void> stop_watching();
  void leave();  // the client is gone or must go: wakes whoever waits

  template <class Item>
  std::shared_ptr<mailbox<Item>> open_mailbox(std::size_t max_bytes);
  answer_plan plan_answer(openai::answer_options options, bool with_logprobs, std::string model);

  asio::io_context& context_;
  tcp::socket socket_;
  std::shared_ptr<http_shared> shared_;
  boost::beast::flat_buffer buffer_;
  deadline deadline_;
  async_event wake_;
  asio::cancellation_signal stop_watch_;
  request_line request_;
  bool watching_ = false;
  bool want_watch_ = false;
  bool gone_ = false;
  bool finishing_ = false;
  bool idle_ = true;  // between two requests
};

}  // namespace troupe::net
