#include "actors/net/admin_connection.hpp"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>
#include <vector>

#include "actors/net/admin_routes.hpp"
#include "actors/net/mailbox.hpp"

namespace troupe::net {

namespace http = boost::beast::http;

namespace {

constexpr std::size_t admin_header_bytes = 16U << 10U;
constexpr std::size_t admin_body_bytes = 64U << 10U;
constexpr std::size_t admin_read_size = 4096;
constexpr std::size_t admin_longest_verb = 16;

request_line describe_admin(const http::request<http::string_body>& header) {
  request_line line;
  line.version = header.version();
  line.keep_alive = header.keep_alive();
  line.verb = std::string(header.method_string()).substr(0, admin_longest_verb);
  line.path = target_path({header.target().data(), header.target().size()});
  if (header.method() == http::verb::get) line.method = http_method::get;
  if (header.method() == http::verb::head) line.method = http_method::head;
  if (header.method() == http::verb::post) line.method = http_method::post;
  return line;
}

bool is_json_type(boost::beast::string_view type) {
  return type.empty() || boost::beast::iequals(type.substr(0, type.find(';')), "application/json");
}

}  // namespace

admin_connection::admin_connection(asio::io_context& context, tcp::socket socket,
                                   std::shared_ptr<admin_shared> shared)
    : context_(context),
      socket_(std::move(socket)),
      shared_(std::move(shared)),
      buffer_(admin_header_bytes + admin_body_bytes + admin_read_size),
      deadline_(context,
                [this] {
                  asio_error ignored;
                  socket_.cancel(ignored);
                  wake_.notify();
                }),
      wake_(context) {}

asio::awaitable<void> admin_connection::run() {
  bool going_on = true;
  while (going_on && !gone_) going_on = co_await serve_request();
}

void admin_connection::finish() {
  finishing_ = true;
  if (idle_) close();
}

void admin_connection::close() {
  gone_ = true;
  wake_.notify();
  asio_error ignored;
  socket_.close(ignored);
}

asio::awaitable<bool> admin_connection::serve_request() {
  const bool came = co_await wait_for_request();
  if (!came) co_return false;
  request_ = {};
  request_parser parser;
  parser.header_limit(admin_header_bytes);
  parser.body_limit(admin_body_bytes);
  if (is_known_) deadline_.arm(shared_->options.request_timeout);  // a stranger has what is left of its time
  const auto [unreadable, header_size] = co_await http::async_read_header(socket_, buffer_, parser, no_throw);
  if (unreadable) co_return co_await refuse_unreadable(unreadable);
  request_ = describe_admin(parser.get());
  const auto authorization = parser.get()[http::field::authorization];
  // Whoever has no key learns nothing of the routes, and leaves nothing in memory.
  is_known_ = is_authorized({authorization.data(), authorization.size()}, shared_->port);
  if (!is_known_) {
    shared_->strangers.add(peer());
    const http_response refusal = refuse_stranger();
    co_return co_await refuse(refusal);
  }
  deadline_.arm(shared_->options.request_timeout);
  auto refusal = refuse_admin_route(request_);
  if (!refusal && !parser.is_done() && !is_json_type(parser.get()[http::field::content_type]))
    refusal = error_response(415, "the body must be sent as Content-Type: application/json");
  if (refusal) {
    if (parser.is_done()) co_return co_await respond(*refusal);
    co_return co_await refuse(*refusal);
  }
  if (boost::beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    const auto [failure, size] = co_await asio::async_write(socket_, asio::buffer(go_on), no_throw);
    if (failure) co_return false;
  }
  const auto [broken, body_size] = co_await http::async_read(socket_, buffer_, parser, no_throw);
  deadline_.disarm();
  if (broken) co_return co_await refuse_unreadable(broken);
  const std::string body = std::move(parser.get().body());
  co_return co_await answer(body);
}

asio::awaitable<bool> admin_connection::wait_for_request() {
  if (finishing_) co_return false;
  if (buffer_.size() > 0) co_return true;
  idle_ = true;
  deadline_.arm(is_known_ ? shared_->options.idle_timeout : shared_->options.stranger_timeout);
  const auto [failure, size] = co_await socket_.async_read_some(buffer_.prepare(admin_read_size), no_throw);
  buffer_.commit(size);
  if (is_known_) deadline_.disarm();
  idle_ = false;
  co_return !failure;
}

// The reply may come from any thread, and after the patience with it.
asio::awaitable<bool> admin_connection::answer(const std::string& body) {
  using reply_box = mailbox<http_response>;
  const auto replies = std::make_shared<reply_box>(context_, 0, [this](bool) { wake_.notify(); });
  const reply_box::closer at_end(*replies);
  const admin_resource target = *find_admin_resource(request_.path);
  answer_admin(target, body, shared_->port,
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

asio::awaitable<bool> admin_connection::refuse_unreadable(asio_error why) {
  const bool is_http = why.category() == make_error_code(http::error::bad_method).category();
  const bool broken_off = why == http::error::end_of_stream || why == http::error::partial_message;
  http_response response;
  if (deadline_.expired()) {
    response = error_response(408, "the request took too long to arrive");
  } else if (!is_http || broken_off) {
    co_return false;
  } else if (why == http::error::header_limit || why == http::error::buffer_overflow) {
    response = error_response(431, "the header is larger than 16 KiB");
  } else if (why == http::error::body_limit) {
    response = error_response({error_code::too_large, "the body is larger than 64 KiB"});
  } else {
    response = error_response(400, "this is not an HTTP request: " + why.message());
  }
  co_return co_await refuse(response);
}

asio::awaitable<bool> admin_connection::respond(const http_response& response) {
  if (finishing_) request_.keep_alive = false;
  const std::string text = serialize(response, request_);
  deadline_.arm(shared_->options.request_timeout);
  const auto [failure, size] = co_await asio::async_write(socket_, asio::buffer(text), no_throw);
  deadline_.disarm();
  co_return !failure && request_.keep_alive;
}

asio::awaitable<bool> admin_connection::refuse(const http_response& response) {
  request_.keep_alive = false;
  co_await respond(response);
  deadline_.arm(shared_->options.linger_timeout);
  co_await linger(socket_, shared_->options.linger_timeout);
  deadline_.disarm();
  co_return false;
}

std::string admin_connection::peer() const {
  asio_error failure;
  const auto end = socket_.remote_endpoint(failure);
  return failure ? std::string("nowhere") : end.address().to_string();
}

}  // namespace troupe::net
