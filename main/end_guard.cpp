#include "main/end_guard.hpp"

#include <spdlog/spdlog.h>

#include <cstdlib>
#include <utility>

namespace troupe::cli {
namespace {

// For last words to reach whom they are for.
constexpr std::chrono::milliseconds for_last_words{300};

}  // namespace

end_guard::end_guard(std::function<void()> last_words)
    : last_words_(std::move(last_words)), thread_([this] { watch(); }) {}

end_guard::~end_guard() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void end_guard::end_by(clock::time_point time, int exit_code) {
  const std::lock_guard lock(mutex_);
  if (time >= end_) return;
  end_ = time;
  exit_code_ = exit_code;
  changed_.notify_all();
}

void end_guard::watch() {
  std::unique_lock lock(mutex_);
  while (!is_over_ && clock::now() < end_ - for_last_words) {
    if (end_ == clock::time_point::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, end_ - for_last_words);
    }
  }
  if (is_over_) return;
  spdlog::critical("the service does not end, since an actor does not: its process is ended");
  last_words_();
  changed_.wait_for(lock, for_last_words, [this] { return is_over_; });
  if (is_over_) return;
  spdlog::default_logger()->flush();
  std::_Exit(exit_code_);
}

}  // namespace troupe::cli
