#include "actors/net/http_connection.hpp"

#include <fmt/format.h>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <iterator>
#include <utility>

#include "actors/net/request_tracker.hpp"

namespace troupe::net {

namespace http = boost::beast::http;

namespace {

constexpr std::size_t read_ahead_bytes = 64U << 10U;
constexpr std::size_t read_size = 4096;
constexpr std::size_t longest_verb = 16;
const std::string answer_prefix = "HTTP/1.1 ";  // every answer begins with it

// A list in several fields is one; two parents are none.
std::optional<trace_context> caller_of(const http::request<growing_body>& header) {
  const auto parents = header.equal_range("traceparent");
  if (std::distance(parents.first, parents.second) != 1) return std::nullopt;
  std::string state;
  const auto states = header.equal_range("tracestate");
  for (auto each = states.first; each != states.second; ++each) {
    if (!state.empty()) state += ',';
    state.append(each->value().data(), each->value().size());
  }
  const auto parent = parents.first->value();
  return read_trace_context({parent.data(), parent.size()}, state);
}

request_line describe(const http::request<growing_body>& header) {
  request_line line;
  line.version = header.version();
  line.keep_alive = header.keep_alive();
  line.verb = std::string(header.method_string()).substr(0, longest_verb);
  line.path = target_path({header.target().data(), header.target().size()});
  const auto field = [&header](const char* name) {
    const auto value = header[name];
    return std::string(value.data(), value.size());
  };
  line.tenant = field("X-Tenant");
  line.request_id = field("X-Request-Id");
  if (!openai::is_request_name(line.request_id)) line.request_id.clear();
  line.caller = caller_of(header);
  switch (header.method()) {
    case http::verb::get:
      line.method = http_method::get;
      break;
    case http::verb::head:
      line.method = http_method::head;
      break;
    case http::verb::post:
      line.method = http_method::post;
      break;
    default:
      break;
  }
  return line;
}

// A browser sends JSON to another origin only as JSON, and only after asking: other types are not taken for
// it.
bool is_json(boost::beast::string_view type) {
  return type.empty() || boost::beast::iequals(type.substr(0, type.find(';')), "application/json");
}

std::optional<http_response> refuse_fields(const http::request<growing_body>& header) {
  if (!is_json(header[http::field::content_type])) {
    return error_response(415, "the body must be sent as Content-Type: application/json");
  }
  if (!header[http::field::content_encoding].empty()) {
    return error_response(415, "an encoded body is not supported");
  }
  const auto expectation = header[http::field::expect];
  if (!expectation.empty() && !boost::beast::iequals(expectation, "100-continue")) {
    return error_response(417, "only 100-continue can be expected");
  }
  return std::nullopt;
}

}  // namespace

http_connection::http_connection(asio::io_context& context, tcp::socket socket,
                                 std::shared_ptr<http_shared> shared)
    : context_(context),
      socket_(std::move(socket)),
      shared_(std::move(shared)),
      buffer_(shared_->options.max_header_bytes + read_ahead_bytes + read_size),
      deadline_(context,
                [this] {
                  asio_error ignored;
                  socket_.cancel(ignored);
                }),
      wake_(context) {}

asio::awaitable<void> http_connection::run() {
  bool going_on = true;
  while (going_on && !gone_) going_on = co_await serve_request();
}

void http_connection::finish() {
  finishing_ = true;
  if (idle_) close();
}

void http_connection::close() {
  leave();
  asio_error ignored;
  socket_.close(ignored);
}

void http_connection::leave() {
  gone_ = true;
  wake_.notify();
}

asio::awaitable<bool> http_connection::serve_request() {
  const bool came = co_await wait_for_request();
  if (!came) co_return false;
  request_ = {};
  tracked_ = false;
  came_ = std::chrono::steady_clock::now();
  request_parser parser;
  parser.header_limit(static_cast<std::uint32_t>(shared_->options.max_header_bytes));
  parser.body_limit(shared_->options.limits.max_body_bytes);
  const bool header_read = co_await read_header(parser);
  if (!header_read) co_return false;
  request_ = describe(parser.get());
  const auto found = find_route(request_.path);
  auto refusal = refuse_route(found, request_);
  if (!refusal && takes_body(found->target)) refusal = refuse_fields(parser.get());
  if (refusal) {
    if (parser.is_done()) co_return co_await respond(*refusal);
    co_return co_await refuse(*refusal);
  }
  byte_budget::share held(shared_->bodies);
  const bool body_read = co_await read_body(parser, held);
  if (!body_read) co_return false;
  if (found->target == resource::reset_prefix_cache) co_return co_await reset_prefix_cache();
  if (found->target == resource::request_state) {
    const std::string name(found->rest);
    co_return co_await describe_request(name);
  }
  if (takes_body(found->target)) {
    std::string& text = parser.get().body();
    body_bytes_ = text.size();
    body_came_ = std::chrono::steady_clock::now();
    result<openai::json> document;
    const std::function<void()> read = [&document, &text] {
      document = openai::read_json(text);
      std::string().swap(text);
    };
    co_await on_body(read);
    held.release();
    if (gone_) co_return false;
    co_return co_await answer_post(found->target, document);
  }
  const http_response response = answer_get(*found, shared_->port, shared_->options.version);
  co_return co_await respond(response);
}

asio::awaitable<void> http_connection::on_body(const std::function<void()>& work) {
  if (body_bytes_ < background_worker::large_text) {
    work();
    co_return;
  }
  co_await shared_->background.run(context_, body_bytes_, gone_, work);
}

asio::awaitable<bool> http_connection::wait_for_request() {
  if (finishing_) co_return false;
  if (buffer_.size() > 0) co_return true;
  if (input_ended_) co_return false;
  idle_ = true;
  deadline_.arm(shared_->options.limits.idle_timeout);
  const auto [failure, size] = co_await socket_.async_read_some(buffer_.prepare(read_size), no_throw);
  buffer_.commit(size);
  deadline_.disarm();
  idle_ = false;
  co_return !failure;
}

asio::awaitable<bool> http_connection::read_header(request_parser& parser) {
  deadline_.arm(shared_->options.limits.header_timeout);
  const auto [failure, size] = co_await http::async_read_header(socket_, buffer_, parser, no_throw);
  deadline_.disarm();
  if (!failure) co_return true;
  co_return co_await refuse_unreadable(failure);
}

asio::awaitable<bool> http_connection::read_body(request_parser& parser, byte_budget::share& held) {
  if (parser.is_done()) co_return true;
  bool room = true;
  if (boost::beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    const bool written = co_await write(go_on);
    if (!written) co_return false;
  }
  deadline_.arm(shared_->options.limits.read_timeout);
  while (room && !parser.is_done()) {
    const auto [failure, size] = co_await http::async_read_some(socket_, buffer_, parser, no_throw);
    if (failure) {
      deadline_.disarm();
      co_return co_await refuse_unreadable(failure);
    }
    room = held.hold(parser.get().body().capacity());
  }
  deadline_.disarm();
  if (room) co_return true;
  const http_response full = error_response({error_code::unavailable, "too many large bodies at the moment"});
  co_return co_await refuse(full);
}

asio::awaitable<bool> http_connection::refuse_unreadable(asio_error why) {
  const std::optional<http_response> response = explain(why);
  if (!response) co_return false;
  co_return co_await refuse(*response);
}

std::optional<http_response> http_connection::explain(const asio_error& why) const {
  const http_options& options = shared_->options;
  if (deadline_.expired()) return error_response(408, "the request took too long to arrive");
  if (why == http::error::header_limit || why == http::error::buffer_overflow) {
    return error_response(431, fmt::format("the header is larger than {} bytes", options.max_header_bytes));
  }
  if (why == http::error::body_limit) {
    return error_response({error_code::too_large,
                           fmt::format("the body is larger than {} bytes", options.limits.max_body_bytes)});
  }
  if (why == http::error::bad_version) return error_response(505, "only HTTP/1.0 and 1.1 are served");
  const bool broken_off = why == http::error::end_of_stream || why == http::error::partial_message;
  const bool of_http = why.category() == make_error_code(http::error::bad_method).category();
  if (broken_off || !of_http) return std::nullopt;
  return error_response(400, "this is not an HTTP request: " + why.message());
}

asio::awaitable<bool> http_connection::respond(const http_response& response) {
  if (finishing_) request_.keep_alive = false;
  note_refusal(response);
  const std::string text = serialize(response, request_);
  const bool written = co_await write(text);
  co_return written&& request_.keep_alive;
}

request_report http_connection::begun_report() const {
  request_report report;
  report.gateway = "http";
  report.client_id = request_.request_id;
  report.caller = request_.caller;
  report.received = came_;
  const auto found = find_route(request_.path);
  if (found && found->rest.empty()) report.route = request_.path;  // any other path is a stranger's text
  return report;
}

// Health and metrics are asked for again and again: what they answer is no news.
void http_connection::note_refusal(const http_response& response) const {
  if (!response.failure || tracked_ || request_.method == http_method::get ||
      request_.method == http_method::head)
    return;
  request_report report = begun_report();
  report.failure = response.failure;
  tell_ended(shared_->options.observers, std::move(report));
}

asio::awaitable<bool> http_connection::refuse(const http_response& response) {
  request_.keep_alive = false;
  note_refusal(response);
  const std::string text = serialize(response, request_);
  const bool written = co_await write(text);
  if (!written) co_return false;
  deadline_.arm(shared_->options.linger_timeout);
  co_await linger(socket_, shared_->options.linger_timeout);
  deadline_.disarm();
  co_return false;
}

asio::awaitable<bool> http_connection::write(const std::string& text) {
  deadline_.arm(shared_->options.limits.write_timeout);
  const auto rest = asio::buffer(text) + std::exchange(sent_ahead_, 0);
  const auto [failure, size] = co_await asio::async_write(socket_, rest, no_throw);
  deadline_.disarm();
  if (failure) close();
  co_return !failure;
}

asio::awaitable<bool> http_connection::wait_for_news(const std::string& comment) {
  co_await wake_.wait();
  if (gone_) co_return false;
  if (!std::exchange(probe_due_, false)) co_return true;
  if (!comment.empty()) co_return co_await write(comment);
  const bool written = co_await write(answer_prefix);
  sent_ahead_ = answer_prefix.size();
  co_return written && !gone_;
}

void http_connection::watch_client() {
  want_watch_ = true;
  if (watching_ || gone_ || buffer_.size() >= read_ahead_bytes) return;
  if (input_ended_) return watch_for_reset();
  watching_ = true;
  socket_.async_read_some(
      buffer_.prepare(read_size),
      asio::bind_cancellation_slot(stop_watch_.slot(),
                                   [self = shared_from_this()](asio_error failure, std::size_t size) {
                                     self->buffer_.commit(size);
                                     self->watched(failure);
                                   }));
}

void http_connection::watch_for_reset() {
  watching_ = true;
  socket_.async_wait(
      tcp::socket::wait_error,
      asio::bind_cancellation_slot(stop_watch_.slot(), [self = shared_from_this()](asio_error) {
        self->watched(asio::error::connection_reset);
      }));
}

void http_connection::watched(asio_error failure) {
  watching_ = false;
  wake_.notify();
  if (failure == asio::error::eof) input_ended_ = true;
  if (!want_watch_) return;
  if (failure && failure != asio::error::eof) return close();
  probe_due_ = input_ended_;
  watch_client();
}

asio::awaitable<void> http_connection::stop_watching() {
  want_watch_ = false;
  if (watching_) stop_watch_.emit(asio::cancellation_type::terminal);
  while (watching_) co_await wake_.wait();
}

}  // namespace troupe::net
