// How http_exchange ends: for its server, for another client, by a refusal.
#include <algorithm>
#include <chrono>

#include "actors/net/http/http_exchange.hpp"

namespace troupe::net {

// A client that has connected and asked for nothing yet is about to: it is not one between two requests.
void http_exchange::finish(const ending& how) {
  ending_ = how;
  ends_ = std::chrono::steady_clock::now() + how.rest;
  if (phase_ == phase::idle && has_asked_) return close();
  if (phase_ != phase::answering) deadline_.arm(how.rest);
}

std::chrono::milliseconds http_exchange::time_for(std::chrono::milliseconds usual) const {
  if (!ending_) return usual;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(ends_ - std::chrono::steady_clock::now());
  return std::clamp(left, std::chrono::milliseconds(0), usual);
}

void http_exchange::give_way(const error& why) {
  if (has_given_way_) return;
  if (phase_ == phase::answering || (phase_ == phase::idle && has_asked_)) return close();
  request_line any;
  any.keep_alive = false;
  say_last(socket_, serialize(error_response(why), any));
  has_given_way_ = true;
  leave();
  asio_error ignored;
  socket_.cancel(ignored);
}

void http_exchange::close() {
  leave();
  asio_error ignored;
  socket_.close(ignored);
}

void http_exchange::leave() {
  gone_ = true;
  wake_.notify();
}

asio::awaitable<bool> http_exchange::refuse(const http_response& response) {
  request_.keep_alive = false;
  co_await respond(response);
  if (!gone_) co_await let_read();  // else it could not be written
  co_return false;
}

asio::awaitable<void> http_exchange::let_read() {
  deadline_.arm(bounds_.linger_timeout);
  co_await linger(socket_, bounds_.linger_timeout);
  deadline_.disarm();
}

asio::awaitable<bool> http_exchange::refuse_header(const request_parser& parser,
                                                   const http_response& response) {
  if (parser.is_done()) co_return co_await respond(response);
  co_return co_await refuse(response);
}

}  // namespace troupe::net
