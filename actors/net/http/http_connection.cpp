#include "actors/net/http/http_connection.hpp"

#include <poll.h>

#include <chrono>
#include <utility>

#include "actors/net/telemetry/request_tracker.hpp"

namespace troupe::net {

namespace http = boost::beast::http;

namespace {

const std::string answer_prefix = "HTTP/1.1 ";  // every answer begins with it
constexpr std::chrono::milliseconds time_between_looks{250};

}  // namespace

http_connection::http_connection(asio::io_context& context, tcp::socket socket,
                                 std::shared_ptr<http_shared> shared)
    : http_exchange(context, std::move(socket), shared->options.limits,
                    {shared->options.max_header_bytes, shared->options.linger_timeout}),
      shared_(std::move(shared)) {}

asio::awaitable<bool> http_connection::serve_request() {
  const bool came = co_await wait_for_request(shared_->options.limits.idle_timeout);
  if (!came) co_return false;
  tracked_ = false;
  came_ = std::chrono::steady_clock::now();
  request_parser parser;
  const bool header_read = co_await read_header(parser, shared_->options.limits.header_timeout);
  if (!header_read) co_return false;
  const auto found = find_route(request_.path);
  const auto early = answer_header(found, parser);
  if (early) co_return co_await refuse_header(parser, *early);
  byte_budget::share held(shared_->bodies);
  const std::function<bool()> has_room = [&held, &parser] {
    return held.hold(parser.get().body().capacity());
  };
  const bool body_read = co_await read_body(parser, has_room);
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
    const memory_tidier::after tidy(shared_->memory, body_bytes_);
    result<json> document;
    const std::function<void()> read = [&document, &text] {
      document = openai::read_body(text);
      std::string().swap(text);
    };
    co_await on_body(read);
    if (gone_) co_return false;
    co_return co_await answer_post(found->target, document, held);
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

// Health and metrics are asked for again and again: what they answer is no news, but to who has no key.
void http_connection::note_refusal(const http_response& response) const {
  if (!response.failure || tracked_) return;
  const bool is_read = request_.method == http_method::get || request_.method == http_method::head;
  if (is_read && response.status != http_unauthorized) return;
  request_report report = begun_report();
  report.refusal_id = request_.id;
  report.failure = response.failure;
  tell_ended(shared_->options.observers, std::move(report));
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
  if (watching_ || gone_) return;
  if (input_ended_ || end_is_near_) return watch_for_reset();
  if (buffer_.size() >= read_ahead_bytes) return watch_from_afar();
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

void http_connection::watch_from_afar() {
  watching_ = true;
  next_look_.expires_after(time_between_looks);
  next_look_.async_wait(
      asio::bind_cancellation_slot(stop_watch_.slot(), [self = shared_from_this()](asio_error cancelled) {
        self->watched(cancelled ? asio_error() : self->look_for_end());
      }));
}

// Asio tells of bytes and of errors, not of an end behind bytes.
asio_error http_connection::look_for_end() {
  pollfd seen{socket_.native_handle(), POLLRDHUP, 0};
  if (::poll(&seen, 1, 0) <= 0) return {};
  if ((seen.revents & ~POLLRDHUP) != 0) return asio::error::connection_reset;
  end_is_near_ = true;
  return {};
}

void http_connection::watched(asio_error failure) {
  watching_ = false;
  wake_.notify();
  if (failure == asio::error::eof) input_ended_ = true;
  if (!want_watch_) return;
  if (failure && failure != asio::error::eof) return close();
  probe_due_ = input_ended_ || end_is_near_;
  watch_client();
}

asio::awaitable<void> http_connection::stop_watching() {
  want_watch_ = false;
  if (watching_) stop_watch_.emit(asio::cancellation_type::terminal);
  while (watching_) co_await wake_.wait();
}

}  // namespace troupe::net
