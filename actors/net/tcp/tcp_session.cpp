#include "actors/net/tcp/tcp_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "actors/net/keys_in_force.hpp"
#include "runtime/wire/payloads.hpp"

namespace troupe::net {
namespace {

constexpr std::size_t payload_step = 8U << 10U;  // memory follows what has arrived, not what was announced

}  // namespace

tcp_session::tcp_session(asio::io_context& context, tcp::socket socket, std::shared_ptr<tcp_shared> shared)
    : context_(context),
      socket_(std::move(socket)),
      shared_(std::move(shared)),
      read_deadline_(context, [this] { on_silence(); }),
      write_deadline_(context, [this] { close(); }),
      wake_writer_(context),
      writer_ended_(context),
      events_(std::make_shared<event_mailbox>(context, shared_->options.limits.max_stream_buffer_bytes,
                                              [this](bool overflowed) {
                                                if (overflowed) close();
                                                wake_writer_.notify();
                                              })) {}

asio::awaitable<void> tcp_session::run() {
  event_mailbox::closer at_end(*events_);
  start_writer();
  const std::optional<error> fault = co_await read_frames();
  leave_streams(at_end);
  if (fault) queue(wire::frame_type::error, 0, wire::error_payload(*fault));
  last_words_ = true;
  wake_writer_.notify();
  while (writing_) co_await writer_ended_.wait();
  // In the midst of a frame, a reset would take the last words from the client.
  if (gone_ || (!fault && reading_ == reading::idle)) co_return;
  enter(reading::lingering);
  co_await linger(socket_, shared_->options.linger_timeout);
}

void tcp_session::start_writer() {
  writing_ = true;
  asio::co_spawn(context_, write_frames(), [self = shared_from_this()](const std::exception_ptr& fault) {
    self->writing_ = false;
    self->has_lost_events_ = fault != nullptr;
    self->writer_ended_.notify();
  });
}

std::optional<std::chrono::steady_clock::time_point> tcp_session::unauthenticated_since() const {
  const bool is_needed = !is_authorized(shared_->options.keys.get(), "");
  if (greeted_ || !is_needed) return std::nullopt;
  return connected_;
}

void tcp_session::finish(const ending& how) {
  ending_ = how;
  if (reading_ == reading::arriving) enter(reading::arriving);
  end_if_idle();
}

void tcp_session::end_if_idle() {
  const bool awaits_frame = reading_ == reading::arriving || reading_ == reading::handling;
  if (!ending_ || !streams_.empty() || awaits_frame || last_words_) return;
  if (reading_ == reading::overdue) queue(wire::frame_type::error, 0, wire::error_payload(ending_->why));
  last_words_ = true;
  wake_writer_.notify();
}

void tcp_session::close() {
  gone_ = true;
  asio_error ignored;
  socket_.close(ignored);
  wake_writer_.notify();
}

// Who has been told an error already, or whose hello has come whole, is not told another one.
void tcp_session::give_way(const error& why) {
  const bool is_awaited = reading_ == reading::idle || reading_ == reading::arriving;
  if (greeted_ || !is_awaited || last_words_) return close();
  end_reading(why);
}

void tcp_session::end_reading(error why) {
  read_end_ = std::move(why);
  stop_read_.emit(asio::cancellation_type::terminal);
}

void tcp_session::enter(reading phase) {
  const tcp_options& options = shared_->options;
  reading_ = phase;
  switch (phase) {
    case reading::idle:
      return read_deadline_.arm(greeted_ ? options.idle_timeout : options.limits.header_timeout);
    case reading::arriving:
      if (ending_) return read_deadline_.arm(std::min(ending_->rest, options.limits.read_timeout));
      if (greeted_) read_deadline_.arm(options.limits.read_timeout);  // before, hello's own time runs on
      return;
    case reading::overdue:
    case reading::handling:
      return read_deadline_.disarm();
    case reading::lingering:
      return read_deadline_.arm(options.linger_timeout);
  }
}

// A silent client may stay while the engine works for it; half a frame may not.
void tcp_session::on_silence() {
  if (reading_ == reading::arriving && ending_) {
    enter(reading::overdue);
    end_if_idle();
  } else if (reading_ == reading::idle && !streams_.empty()) {
    enter(reading::idle);
  } else if (reading_ == reading::lingering || last_words_) {
    close();
  } else {
    end_reading({error_code::invalid_argument, what_is_late()});
  }
}

std::string tcp_session::what_is_late() const {
  const auto seconds = [](std::chrono::milliseconds time) {
    return fmt::format("{:g} s", std::chrono::duration<double>(time).count());
  };
  const tcp_options& options = shared_->options;
  if (!greeted_) return "no hello has come within " + seconds(options.limits.header_timeout);
  if (reading_ == reading::arriving)
    return "a frame has not come whole within " + seconds(options.limits.read_timeout);
  return "nothing has come for " + seconds(options.idle_timeout) + ", and nothing runs";
}

asio::awaitable<std::optional<error>> tcp_session::read_frames() {
  while (!last_words_ && !read_end_) {
    wire::frame_header header;
    const bool came = co_await read_header(header);
    if (!came || read_end_ || last_words_) break;
    std::optional<error> fault = check_header(header);
    if (fault) co_return fault;
    const memory_tidier::after tidy(shared_->memory, header.length);
    std::string payload;
    byte_budget::share held(shared_->frames);
    fault = co_await read_payload(payload, header.length, held);
    if (fault || payload.size() < header.length || last_words_) co_return fault;
    enter(reading::handling);
    fault = co_await handle(header, payload);
    if (fault) co_return fault;
    reading_ = reading::idle;
    end_if_idle();
  }
  co_return read_end_;
}

asio::awaitable<bool> tcp_session::read_header(wire::frame_header& header) {
  wire::header_bytes bytes{};
  enter(reading::idle);
  auto stoppable = asio::bind_cancellation_slot(stop_read_.slot(), no_throw);
  const auto [failure, first] = co_await socket_.async_read_some(asio::buffer(bytes), stoppable);
  if (failure) co_return false;
  enter(reading::arriving);
  if (read_end_) co_return false;
  const auto [cut, rest] = co_await asio::async_read(socket_, asio::buffer(bytes) + first, stoppable);
  header = wire::decode_header(bytes);
  co_return !cut;
}

asio::awaitable<std::optional<error>> tcp_session::read_payload(std::string& payload, std::size_t size,
                                                                byte_budget::share& held) {
  auto stoppable = asio::bind_cancellation_slot(stop_read_.slot(), no_throw);
  while (payload.size() < size && !read_end_) {
    const std::size_t have = payload.size();
    const std::size_t next = std::min(size, have + std::max(have, payload_step));
    if (!held.hold(next)) {
      const error full{error_code::resource_exhausted, "too many large frames at the moment"};
      co_return full;
    }
    payload.resize(next);
    const auto [failure, got] = co_await asio::async_read(socket_, asio::buffer(payload) + have, stoppable);
    if (!failure) continue;
    payload.resize(have);
    break;
  }
  co_return read_end_;
}

std::optional<error> tcp_session::check_header(const wire::frame_header& header) const {
  const auto limit = wire::client_payload_limit(header.type, shared_->options.max_frame_bytes);
  if (!limit)
    return error{error_code::invalid_argument, fmt::format("frame type {} is unknown", header.type)};
  if (header.length > *limit) {
    return error{error_code::too_large,
                 fmt::format("a frame of type {} holds at most {} bytes", header.type, *limit)};
  }
  const bool is_hello = header.type == static_cast<std::uint8_t>(wire::frame_type::hello);
  if (is_hello == greeted_) {
    return error{error_code::invalid_argument,
                 greeted_ ? "hello was said already" : "the first frame must be hello"};
  }
  const bool names_request = header.type == static_cast<std::uint8_t>(wire::frame_type::generate) ||
                             header.type == static_cast<std::uint8_t>(wire::frame_type::cancel);
  if (names_request == (header.request != 0)) return std::nullopt;
  return error{error_code::invalid_argument, names_request
                                                 ? "request number 0 is the connection's own"
                                                 : "this frame belongs to no request: its number must be 0"};
}

asio::awaitable<void> tcp_session::write_frames() {
  while (!gone_) {
    if (!are_streams_left_)
      for (const tagged_event& entry : events_->take()) write_event(entry);
    if (out_.empty()) {
      if (last_words_) break;
      co_await wake_writer_.wait();
      continue;
    }
    const std::string batch = std::exchange(out_, {});
    const auto within = shared_->options.limits.write_timeout;
    const bool written = co_await write_all(socket_, asio::buffer(batch), write_deadline_, within);
    if (!written) close();
  }
  asio_error ignored;
  socket_.cancel(ignored);  // reading ends, too
}

void tcp_session::queue(wire::frame_type type, std::uint64_t request, std::string_view payload) {
  wire::append_frame(out_, type, request, payload);
  if (out_.size() > 2 * shared_->options.limits.max_stream_buffer_bytes) close();
  wake_writer_.notify();
}

}  // namespace troupe::net
