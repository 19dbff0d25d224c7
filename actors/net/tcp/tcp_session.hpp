// One client of the TCP protocol (docs/protocol.md): many generations at once over one connection.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>

#include "actors/net/departed_requests.hpp"
#include "actors/net/engine_port.hpp"
#include "actors/net/live_generation.hpp"
#include "actors/net/options.hpp"
#include "actors/net/sockets/async_event.hpp"
#include "actors/net/sockets/background_worker.hpp"
#include "actors/net/sockets/byte_budget.hpp"
#include "actors/net/sockets/connection.hpp"
#include "actors/net/sockets/deadline.hpp"
#include "actors/net/sockets/memory_tidier.hpp"
#include "actors/net/telemetry/request_tracker.hpp"
#include "actors/net/telemetry/stranger_log.hpp"
#include "runtime/openai/logprobs.hpp"
#include "runtime/openai/request.hpp"
#include "runtime/wire/frame.hpp"

namespace troupe::net {

// What the connections of one server share. Lives on the io_context thread.
struct tcp_shared {
  tcp_shared(tcp_options chosen, engine_port& engine)
      : options(std::move(chosen)),
        port(engine),
        frames(options.max_buffered_bytes),
        name([&engine](token_id id) { return engine.token_text(id); }) {}
  tcp_options options;
  engine_port& port;
  byte_budget frames;
  background_worker background;  // for large frames
  memory_tidier memory;          // after them
  departed_requests departed;
  stranger_log strangers{"TCP"};
  const openai::token_namer name;
  std::mt19937_64 random{std::random_device{}()};  // seeds for clients that give none
  std::uint64_t sessions = 0;                      // greeted so far
};

class tcp_session final : public connection, public std::enable_shared_from_this<tcp_session> {
 public:
  tcp_session(asio::io_context& context, tcp::socket socket, std::shared_ptr<tcp_shared> shared);
  asio::awaitable<void> run() override;
  void finish(const ending& how) override;
  void close() override;
  void give_way(const error& why) override;  // tells who has not greeted
  std::optional<std::chrono::steady_clock::time_point> unauthenticated_since() const override;

 private:
  enum class reading {
    idle,      // between two frames
    arriving,  // a frame has begun, and is waited for
    overdue,   // it has not come in the time that ending allows: the client is told so behind all streams
    handling,
    lingering  // everything is said: what still comes is dropped
  };
  struct stream {
    live_generation live;
    openai::answer_options options;
    bool with_logprobs = false;
    std::shared_ptr<request_tracker> tracker = {};
  };
  // Nothing: the client has left. An error: the client broke the protocol and is told so before the end.
  asio::awaitable<std::optional<error>> read_frames();
  asio::awaitable<bool> read_header(wire::frame_header& header);
  // `held` follows what has arrived; an error where the budget does not allow that. A payload that stays
  // shorter: the client has left.
  asio::awaitable<std::optional<error>> read_payload(std::string& payload, std::size_t size,
                                                     byte_budget::share& held);
  std::optional<error> check_header(const wire::frame_header& header) const;
  asio::awaitable<std::optional<error>> handle(const wire::frame_header& header, const std::string& payload);

  std::optional<error> greet(const std::string& payload);
  // Named "tcp-3/7": request 7 of the third session.
  request_report begun_report(std::uint64_t request) const;
  asio::awaitable<void> start_stream(std::uint64_t request, const std::string& payload);
  // Whether another request of this number can be taken now.
  result<void> check_stream(std::uint64_t request) const;
  // Also tells the report whose span the request belongs to.
  asio::awaitable<result<openai::parsed_request>> parse(const std::string& payload, request_report& report);
  stream open_stream(request_report report, std::uint64_t request, openai::parsed_request parsed);
  void cancel_stream(std::uint64_t request);
  // The client reads no answer any more: all streams are aborted, and their events go to who reports them.
  void leave_streams(event_mailbox::closer& events);
  void write_event(const tagged_event& entry);

  void start_writer();
  asio::awaitable<void> write_frames();
  void queue(wire::frame_type type, std::uint64_t request, std::string_view payload);
  void enter(reading phase);  // and its time begins
  void on_silence();
  std::string what_is_late() const;
  // Whoever reads sees this fault instead.
  void end_reading(error why);
  // Says the last words where nothing is in flight any more, nor has begun to arrive.
  void end_if_idle();

  asio::io_context& context_;
  tcp::socket socket_;
  std::shared_ptr<tcp_shared> shared_;
  deadline read_deadline_;
  deadline write_deadline_;
  async_event wake_writer_;
  async_event writer_ended_;
  std::shared_ptr<event_mailbox> events_;
  std::unordered_map<std::uint64_t, stream> streams_;  // by the client's number
  std::string out_;                                    // frames to be written
  std::uint64_t number_ = 0;                           // of this session, once greeted
  const std::chrono::steady_clock::time_point connected_ = std::chrono::steady_clock::now();
  bool greeted_ = false;
  reading reading_ = reading::idle;
  std::optional<ending> ending_;
  asio::cancellation_signal stop_read_;
  std::optional<error> read_end_;  // why nothing more is read, though the client has not left
  bool writing_ = false;
  bool has_lost_events_ = false;    // for want of memory
  bool are_streams_left_ = false;   // events are another's
  bool last_words_ = false;         // the writer ends when out_ is empty, and the reader with it
  std::atomic<bool> gone_ = false;  // read in the background, too
};

}  // namespace troupe::net
