#include "actors/net/http/http_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <cstdint>
#include <random>
#include <string_view>
#include <utility>

#include "actors/net/engine_port.hpp"
#include "actors/net/http/content_type.hpp"
#include "runtime/openai/request.hpp"

namespace troupe::net {

namespace http = boost::beast::http;

namespace {

constexpr std::size_t longest_verb = 16;

http_method method_of(http::verb verb) {
  if (verb == http::verb::get) return http_method::get;
  if (verb == http::verb::head) return http_method::head;
  if (verb == http::verb::post) return http_method::post;
  return http_method::other;
}

// A browser sends what says that it is JSON to another origin only after asking: other types are not taken
// for it, and none at all from no page (http_admission.cpp).
bool is_json(boost::beast::string_view type) {
  return type.empty() || names_json({type.data(), type.size()});
}

// What is to be done before the body is sent. A client of HTTP/1.0 expects nothing, whatever it says (RFC
// 9110, 10.1.1).
boost::beast::string_view expectation_of(const http::request<growing_body>& header) {
  return header.version() < 11 ? boost::beast::string_view() : header[http::field::expect];
}

// Whether the first line of `text` ends with a version that is not served, "HTTP/2.0".
bool names_other_version(std::string_view text) {
  constexpr std::string_view pattern = "HTTP/0.0";
  text = text.substr(0, text.find('\r'));
  text = text.substr(std::min(text.size(), text.rfind(' ') + 1));
  return !text.starts_with("HTTP/1.") && std::ranges::equal(text, pattern, [](char is, char wanted) {
    return wanted == '0' ? is >= '0' && is <= '9' : is == wanted;
  });
}

// For an answer to who has given the request no name.
std::string draw_request_id() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  return draw_name("req-", random);
}

}  // namespace

http_exchange::http_exchange(asio::io_context& context, tcp::socket socket, const connection_limits& limits,
                             const exchange_bounds& bounds)
    : context_(context),
      socket_(std::move(socket)),
      buffer_(bounds.max_header_bytes + read_ahead_bytes + read_size),
      deadline_(context,
                [this] {
                  asio_error ignored;
                  socket_.cancel(ignored);
                  wake_.notify();
                }),
      wake_(context),
      limits_(limits),
      bounds_(bounds) {}

asio::awaitable<void> http_exchange::run() {
  bool going_on = true;
  while (going_on && !gone_) going_on = co_await serve_request();
  if (has_given_way_) co_await let_read();
}

asio::awaitable<bool> http_exchange::wait_for_request(std::chrono::milliseconds within) {
  if (ending_ && has_asked_) co_return false;
  // One empty line in front of a request is passed over (RFC 9112, 2.2).
  constexpr std::string_view empty_line = "\r\n";
  bool may_be_empty = true;
  bool failed = false;
  phase_ = phase::idle;
  deadline_.arm(time_for(within));
  while (!failed) {
    if (may_be_empty && bytes_read().starts_with(empty_line)) {
      buffer_.consume(empty_line.size());
      may_be_empty = false;
    }
    const bool is_undecided = may_be_empty && bytes_read() == empty_line.substr(0, 1);
    if (buffer_.size() > 0 && !is_undecided) break;
    failed = input_ended_;
    if (failed) break;
    const bool came = co_await wait_for_bytes();
    failed = !came;
    if (failed) break;
    const auto [failure, size] = co_await socket_.async_read_some(buffer_.prepare(read_size), no_throw);
    buffer_.commit(size);
    failed = failure.failed();
    has_asked_ = has_asked_ || !failed;
  }
  deadline_.disarm();
  phase_ = phase::answering;
  co_return !failed && !gone_;
}

std::optional<std::chrono::steady_clock::time_point> http_exchange::waiting_since() const {
  asio_error ignored;
  if (idle_since_ && socket_.available(ignored) > 0) return std::nullopt;
  return idle_since_;
}

// A read takes bytes before it says so: whether any have come could not be told. So they stay where they are.
asio::awaitable<bool> http_exchange::wait_for_bytes() {
  if (!has_asked_ || buffer_.size() > 0) co_return true;
  idle_since_ = std::chrono::steady_clock::now();
  const auto [failure] = co_await socket_.async_wait(tcp::socket::wait_read, no_throw);
  idle_since_.reset();
  co_return !failure;
}

asio::awaitable<bool> http_exchange::read_header(request_parser& parser, std::chrono::milliseconds within) {
  request_ = {};
  parser.header_limit(static_cast<std::uint32_t>(bounds_.max_header_bytes));
  parser.body_limit(limits_.max_body_bytes);
  phase_ = phase::reading;
  deadline_.arm(time_for(within));
  const auto [failure, size] = co_await http::async_read_header(socket_, buffer_, parser, no_throw);
  deadline_.disarm();
  phase_ = phase::answering;
  if (gone_) co_return false;
  const request_header& header = parser.get();
  const auto name = header["X-Request-Id"];
  take_name(failure && name.empty() ? request_name_in(bytes_read())
                                    : std::string_view(name.data(), name.size()));
  note_header(header);
  if (failure) co_return co_await refuse_unreadable(failure);
  request_.version = header.version();
  request_.keep_alive = header.keep_alive();
  request_.verb = std::string(header.method_string()).substr(0, longest_verb);
  request_.path = target_path({header.target().data(), header.target().size()});
  request_.method = method_of(header.method());
  // Whom it is for would be one thing to a proxy and another one here (RFC 9112, 3.2).
  if (header.count(http::field::host) > 1) {
    const http_response ambiguous = error_response(400, "a request has one Host at most");
    co_return co_await refuse(ambiguous);
  }
  // Where its body ends is not known (RFC 9112, 6.3): what follows could be taken for the next request.
  const auto coding = header[http::field::transfer_encoding];
  if (coding.empty() || boost::beast::iequals(coding, "chunked")) co_return true;
  const http_response unknown = error_response(400, "the only Transfer-Encoding that is read is chunked");
  co_return co_await refuse(unknown);
}

std::string_view http_exchange::bytes_read() const {
  return {static_cast<const char*>(buffer_.data().data()), buffer_.size()};
}

void http_exchange::take_name(std::string_view name) {
  if (openai::is_request_name(name)) request_.request_id = name;
  request_.id = request_.request_id;
}

asio::awaitable<bool> http_exchange::read_body(request_parser& parser,
                                               const std::function<bool()>& has_room) {
  if (parser.is_done()) co_return true;
  bool room = true;
  if (boost::beast::iequals(expectation_of(parser.get()), "100-continue")) {
    const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    const bool written = co_await write(go_on);
    if (!written) co_return false;
  }
  phase_ = phase::reading;
  deadline_.arm(time_for(limits_.read_timeout));
  asio_error failure;
  while (room && !failure && !parser.is_done()) {
    const auto [why, size] = co_await http::async_read_some(socket_, buffer_, parser, no_throw);
    failure = why;
    room = has_room();
  }
  deadline_.disarm();
  phase_ = phase::answering;
  if (gone_) co_return false;
  if (failure) co_return co_await refuse_unreadable(failure);
  if (room) co_return true;
  const http_response full = error_response(too_many_large_bodies);
  co_return co_await refuse(full);
}

std::optional<http_response> http_exchange::refuse_fields(const request_header& header) {
  if (!is_json(header[http::field::content_type])) {
    return error_response(415, "the body must be sent as Content-Type: application/json");
  }
  const auto encoding = header[http::field::content_encoding];
  if (!encoding.empty() && !boost::beast::iequals(encoding, "identity")) {
    return error_response(415, "an encoded body is not supported");
  }
  const auto expectation = expectation_of(header);
  if (!expectation.empty() && !boost::beast::iequals(expectation, "100-continue")) {
    return error_response(417, "only 100-continue can be expected");
  }
  return std::nullopt;
}

asio::awaitable<bool> http_exchange::refuse_unreadable(asio_error why) {
  const std::optional<http_response> response = explain(why);
  if (!response) co_return false;
  co_return co_await refuse(*response);
}

std::optional<http_response> http_exchange::explain(const asio_error& why) const {
  if (deadline_.expired() && ending_) return error_response(ending_->why);
  if (deadline_.expired()) return error_response(408, "the request took too long to arrive");
  if (why == http::error::header_limit || why == http::error::buffer_overflow) {
    return error_response(431, fmt::format("the header is larger than {} bytes", bounds_.max_header_bytes));
  }
  if (why == http::error::body_limit) {
    return error_response(
        {error_code::too_large, fmt::format("the body is larger than {} bytes", limits_.max_body_bytes)});
  }
  if (why == http::error::bad_version && names_other_version(bytes_read()))
    return error_response(505, "only HTTP/1.0 and 1.1 are served");
  const bool broken_off = why == http::error::end_of_stream || why == http::error::partial_message;
  const bool of_http = why.category() == make_error_code(http::error::bad_method).category();
  if (broken_off || !of_http) return std::nullopt;
  return error_response(400, "this is not an HTTP request: " + why.message());
}

asio::awaitable<bool> http_exchange::respond(const http_response& response) {
  prepare(response);
  const std::string text = serialize(response, request_);
  co_return co_await send(text);
}

void http_exchange::prepare(const http_response& response) {
  if (ending_) request_.keep_alive = false;
  if (request_.id.empty()) request_.id = draw_request_id();
  note_refusal(response);
}

asio::awaitable<bool> http_exchange::send(const std::string& text) {
  const bool written = co_await write(text);
  co_return written&& request_.keep_alive;
}

asio::awaitable<bool> http_exchange::write(const std::string& text) {
  const auto rest = asio::buffer(text) + std::exchange(sent_ahead_, 0);
  const bool written = co_await write_all(socket_, rest, deadline_, limits_.write_timeout);
  if (!written) close();
  co_return written;
}

}  // namespace troupe::net
