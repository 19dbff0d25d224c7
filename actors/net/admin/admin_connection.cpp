#include "actors/net/admin/admin_connection.hpp"

#include <boost/beast/http/field.hpp>
#include <functional>
#include <utility>
#include <vector>

#include "actors/net/admin/admin_routes.hpp"
#include "actors/net/sockets/mailbox.hpp"

namespace troupe::net {

namespace http = boost::beast::http;

admin_connection::admin_connection(asio::io_context& context, tcp::socket socket,
                                   std::shared_ptr<admin_shared> shared)
    : http_exchange(context, std::move(socket), shared->options.limits,
                    {.linger_timeout = shared->options.linger_timeout}),
      shared_(std::move(shared)) {}

std::chrono::milliseconds admin_connection::time_for(std::chrono::milliseconds known) const {
  if (is_known_) return known;
  const auto end = came_ + shared_->options.stranger_timeout;
  return std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
}

asio::awaitable<bool> admin_connection::serve_request() {
  const connection_limits& limits = shared_->options.limits;
  const bool came = co_await wait_for_request(time_for(limits.idle_timeout));
  if (!came) co_return false;
  request_parser parser;
  const bool header_read = co_await read_header(parser, time_for(limits.header_timeout));
  if (!header_read) co_return false;
  const auto authorization = parser.get()[http::field::authorization];
  const bool has_one_key = parser.get().count(http::field::authorization) == 1;
  // Whoever has no key learns nothing of the routes, and leaves nothing in memory.
  is_known_ = has_one_key && is_authorized({authorization.data(), authorization.size()}, shared_->commands);
  if (!is_known_) {
    shared_->strangers.add(socket_);
    const http_response stranger = refuse_stranger();
    co_return co_await refuse(stranger);
  }
  auto refusal = refuse_admin_route(request_);
  if (!refusal && !parser.is_done()) refusal = refuse_fields(parser.get());
  if (refusal) co_return co_await refuse_header(parser, *refusal);
  const std::function<bool()> has_room = [] { return true; };  // bodies here are small
  const bool body_read = co_await read_body(parser, has_room);
  if (!body_read) co_return false;
  co_return co_await answer(parser.get().body());
}

// The reply may come from any thread, and after the patience with it.
asio::awaitable<bool> admin_connection::answer(const std::string& body) {
  using reply_box = mailbox<http_response>;
  const auto replies = std::make_shared<reply_box>(context_, 0, [this](bool) { wake_.notify(); });
  const reply_box::closer at_end(*replies);
  const admin_resource target = *find_admin_resource(request_.path);
  answer_admin(target, body, shared_->commands,
               [replies](http_response response) { replies->push(std::move(response), 0); });
  std::vector<http_response> arrived;
  deadline_.arm(shared_->options.reply_timeout);
  while (arrived.empty() && !gone_ && !deadline_.expired()) {
    co_await wake_.wait();
    arrived = replies->take();
  }
  deadline_.disarm();
  if (gone_) co_return false;
  if (arrived.empty()) arrived.push_back(answer_without_reply(target));
  co_return co_await respond(arrived.front());
}

}  // namespace troupe::net
