#include "actors/net/telemetry/trace_exporter.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <deque>
#include <exception>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "actors/net/host_field.hpp"
#include "actors/net/sockets/async_event.hpp"
#include "actors/net/sockets/deadline.hpp"
#include "actors/net/sockets/thread_priority.hpp"
#include "runtime/telemetry/rate_limit.hpp"

namespace troupe::net {

namespace http = boost::beast::http;

namespace {

constexpr std::uint64_t largest_answer = 64U << 10U;

// Read anew for each batch: the system's clock may be set meanwhile.
std::chrono::nanoseconds unix_epoch() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return now - std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace

struct trace_exporter::state {
  struct waiting_request {
    request_report report;
    trace_id trace{};
    std::size_t spans = 0;
  };
  struct collector_answer {
    int status = 0;
    std::string body = {};
    std::string failure = {};  // why there is none
  };

  state(trace_options chosen, span_counter counter) : options(std::move(chosen)), count(std::move(counter)) {}

  // Any thread.
  void add(const request_report& report);
  std::vector<waiting_request> take_batch();

  // The exporter's own thread.
  asio::awaitable<void> run();
  asio::awaitable<void> wait_for_batch();
  asio::awaitable<void> export_batch(const std::vector<waiting_request>& batch);
  // Within the limit.
  asio::awaitable<collector_answer> post(const std::string& body);
  asio::awaitable<asio_error> connect();
  asio::awaitable<asio_error> talk(const std::string& body, collector_answer& answer);
  void settle(const collector_answer& answer, std::uint64_t spans);
  void complain(const std::string& why);
  void begin_closing();
  std::chrono::milliseconds time_left() const;

  const trace_options options;
  const span_counter count;

  std::mutex mutex;  // guards the next four
  std::deque<waiting_request> waiting;
  std::size_t waiting_spans = 0;
  std::mt19937_64 random{std::random_device{}()};  // for traces
  bool is_batch_full = false;                      // and its exporter told

  std::mt19937_64 span_random{std::random_device{}()};
  asio::io_context context{1};
  asio::steady_timer pause{context};
  tcp::socket socket{context};
  tcp::resolver resolver{context};
  deadline limit{context, [this] {
                   asio_error ignored;
                   resolver.cancel();
                   socket.close(ignored);
                 }};
  bool closing = false;
  std::chrono::steady_clock::time_point closed_by = std::chrono::steady_clock::time_point::max();
  rate_limit complaints{1, std::chrono::seconds(60)};
  std::thread thread;
};

void trace_exporter::state::add(const request_report& report) {
  const std::size_t spans = count_spans(report);
  const std::lock_guard lock(mutex);
  const trace_id trace = report.caller ? report.caller->trace : draw_trace_id(std::ref(random));
  if (!is_sampled(options.sampling, report.caller, trace)) return;
  if (waiting_spans + spans > options.max_waiting_spans) return count(span_fate::queue_full, spans);
  waiting.push_back({report, trace, spans});
  waiting_spans += spans;
  if (waiting_spans < options.max_batch_spans || std::exchange(is_batch_full, true)) return;
  asio::post(context, [this] { pause.cancel(); });
}

std::vector<trace_exporter::state::waiting_request> trace_exporter::state::take_batch() {
  const std::lock_guard lock(mutex);
  std::vector<waiting_request> batch;
  std::size_t spans = 0;
  while (!waiting.empty() && (batch.empty() || spans + waiting.front().spans <= options.max_batch_spans)) {
    spans += waiting.front().spans;
    batch.push_back(std::move(waiting.front()));
    waiting.pop_front();
  }
  waiting_spans -= spans;
  is_batch_full = waiting_spans >= options.max_batch_spans;
  return batch;
}

asio::awaitable<void> trace_exporter::state::run() {
  while (true) {
    co_await wait_for_batch();
    const std::vector<waiting_request> batch = take_batch();
    if (!batch.empty()) co_await export_batch(batch);
    if (batch.empty() && closing) break;
  }
}

// A batch that is full already is not waited for.
asio::awaitable<void> trace_exporter::state::wait_for_batch() {
  {
    const std::lock_guard lock(mutex);
    if (closing || is_batch_full) co_return;
    pause.expires_after(options.max_delay);
  }
  co_await pause.async_wait(no_throw);
}

asio::awaitable<void> trace_exporter::state::export_batch(const std::vector<waiting_request>& batch) {
  std::vector<trace_spans> traces;
  std::uint64_t spans = 0;
  const std::chrono::nanoseconds epoch = unix_epoch();
  for (const waiting_request& each : batch) {
    traces.push_back(spans_of(each.report, each.trace, epoch, std::ref(span_random)));
    spans += traces.back().spans.size();
  }
  const std::string body = otlp_json(traces, options.resource);
  const collector_answer answer = co_await post(body);
  settle(answer, spans);
}

asio::awaitable<trace_exporter::state::collector_answer> trace_exporter::state::post(
    const std::string& body) {
  collector_answer answer;
  limit.arm(time_left());
  asio_error failure = co_await connect();
  if (!failure && !limit.expired()) failure = co_await talk(body, answer);
  if (limit.expired()) {
    answer.failure = "it does not answer in time";
  } else if (failure) {
    answer.failure = failure.message();
  }
  limit.disarm();
  asio_error ignored;
  socket.close(ignored);
  co_return answer;
}

asio::awaitable<asio_error> trace_exporter::state::connect() {
  const auto [unknown, found] = co_await resolver.async_resolve(options.host, options.port, no_throw);
  asio_error failure = unknown;
  for (auto each = found.begin(); each != found.end() && !limit.expired(); ++each) {
    socket = tcp::socket(context);
    const auto [refused] = co_await socket.async_connect(each->endpoint(), no_throw);
    failure = refused;
    if (!refused) break;
  }
  co_return failure;
}

asio::awaitable<asio_error> trace_exporter::state::talk(const std::string& body, collector_answer& answer) {
  http::request<http::string_body> request(http::verb::post, options.path, 11, body);
  request.set(http::field::host, host_field(options.host, options.port));
  request.set(http::field::content_type, "application/json");
  request.set(http::field::user_agent, "troupe/" + options.resource.version);
  request.keep_alive(false);
  request.prepare_payload();
  const auto [unsent, sent] = co_await http::async_write(socket, request, no_throw);
  if (unsent) co_return unsent;
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(largest_answer);
  const auto [unread, got] = co_await http::async_read(socket, buffer, parser, no_throw);
  if (unread) co_return unread;
  answer.status = static_cast<int>(parser.get().result_int());
  answer.body = std::move(parser.get().body());
  co_return asio_error();
}

void trace_exporter::state::settle(const collector_answer& answer, std::uint64_t spans) {
  if (!answer.failure.empty()) {
    count(span_fate::unreachable, spans);
    return complain(answer.failure);
  }
  if (answer.status / 100 != 2) {
    count(span_fate::rejected, spans);
    return complain(fmt::format("it answers with status {}", answer.status));
  }
  const std::uint64_t rejected = std::min(rejected_spans(answer.body), spans);
  if (rejected > 0) {
    count(span_fate::rejected, rejected);
    complain(fmt::format("it rejects {} of {} spans", rejected, spans));
  }
  count(span_fate::exported, spans - rejected);
}

void trace_exporter::state::complain(const std::string& why) {
  if (complaints.pass(std::chrono::steady_clock::now()))
    spdlog::warn("traces are lost: the collector at {}{}: {}", host_field(options.host, options.port),
                 options.path, why);
}

void trace_exporter::state::begin_closing() {
  closing = true;
  closed_by = std::chrono::steady_clock::now() + options.last_timeout;
  pause.cancel();
  limit.arm(time_left());
}

std::chrono::milliseconds trace_exporter::state::time_left() const {
  if (!closing) return options.timeout;
  const auto left = closed_by - std::chrono::steady_clock::now();
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(left), std::chrono::milliseconds(0));
}

trace_exporter::trace_exporter(trace_options options, span_counter count)
    : state_(std::make_unique<state>(std::move(options), std::move(count))) {
  state* const raw = state_.get();
  asio::co_spawn(raw->context, raw->run(), [raw](const std::exception_ptr& fault) {
    if (fault) spdlog::error("traces are no longer sent: out of memory");
    raw->context.stop();  // a deadline that is no longer needed may still be waited for
  });
  raw->thread = std::thread([raw] {
    use_lowest_priority();  // what it does nobody waits for
    raw->context.run();
  });
}

trace_exporter::~trace_exporter() { close(); }

void trace_exporter::ended(const request_report& report) { state_->add(report); }

void trace_exporter::close() {
  if (!state_->thread.joinable()) return;
  asio::post(state_->context, [raw = state_.get()] { raw->begin_closing(); });
  state_->thread.join();
}

}  // namespace troupe::net
