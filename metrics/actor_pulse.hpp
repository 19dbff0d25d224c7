// The signs of life of one actor, which writes them itself; read by any thread.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::metrics {

class actor_pulse {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  // Messages of one kind that were handled. Keep the reference. Before anybody else knows of the pulse.
  std::atomic<std::uint64_t>& count_of(std::string message) {
    handled_.emplace_back(std::move(message));
    return handled_.back().count;
  }

  // By the actor itself: a message is in hand, `waiting` are behind it; it is done; an answer has come.
  void message_begins(time_point now, std::size_t waiting) {
    touch(now);
    waiting_.store(waiting, relaxed);
    is_busy_.store(true, relaxed);
  }
  void message_ends() {
    waiting_.store(0, relaxed);
    is_busy_.store(false, relaxed);
  }
  void touch(time_point now) { last_.store(now.time_since_epoch().count(), relaxed); }
  // It has begun, or has handled a message.
  void answers(time_point now) { answered_.store(now.time_since_epoch().count(), relaxed); }

  bool is_busy() const { return is_busy_.load(relaxed); }
  std::size_t waiting() const { return waiting_.load(relaxed); }
  // When the last message came; nothing where none has.
  std::optional<time_point> last_message() const { return moment(last_); }
  std::optional<time_point> last_answer() const { return moment(answered_); }
  // By the messages' names, those that never came too.
  std::vector<std::pair<std::string, std::uint64_t>> handled() const {
    std::vector<std::pair<std::string, std::uint64_t>> all;
    for (const counter& each : handled_) all.emplace_back(each.message, each.count.load(relaxed));
    return all;
  }

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr std::int64_t never = -1;

  static std::optional<time_point> moment(const std::atomic<std::int64_t>& of) {
    const std::int64_t since = of.load(relaxed);
    if (since == never) return std::nullopt;
    return time_point(time_point::duration(since));
  }

  struct counter {
    explicit counter(std::string name) : message(std::move(name)) {}
    const std::string message;
    std::atomic<std::uint64_t> count{0};
  };

  std::deque<counter> handled_;
  std::atomic<std::int64_t> last_{never};
  std::atomic<std::int64_t> answered_{never};
  std::atomic<std::size_t> waiting_{0};
  std::atomic<bool> is_busy_{false};
};

}  // namespace troupe::metrics
