// Ends the process when its end takes too long: an actor whose thread never comes back cannot be ended by
// itself.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace troupe::cli {

class end_guard {
 public:
  using clock = std::chrono::steady_clock;

  // `last_words` is called on another thread, shortly before the process is ended, which does not wait for
  // it.
  explicit end_guard(std::function<void()> last_words);
  // There is nothing to guard any more.
  ~end_guard();
  end_guard(const end_guard&) = delete;
  end_guard& operator=(const end_guard&) = delete;

  // At this time the process ends with this code, unless that was to be even sooner, and the log says why.
  // Any thread.
  void end_by(clock::time_point time, int exit_code, std::string why);

 private:
  void watch();

  const std::function<void()> last_words_;
  std::mutex mutex_;
  std::condition_variable changed_;
  clock::time_point end_ = clock::time_point::max();
  int exit_code_ = 0;
  std::string why_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace troupe::cli
