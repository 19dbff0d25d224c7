#include "main/service/end_guard.hpp"

#include <spdlog/spdlog.h>

#include <utility>

#include "runtime/isolation/exit_with_children.hpp"

namespace troupe::cli {
namespace {

// So long before the end of the process the last words are said.
constexpr std::chrono::milliseconds words_before_end{300};

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

void end_guard::end_by(clock::time_point time, int exit_code, std::string why) {
  const std::lock_guard lock(mutex_);
  if (time >= end_) return;
  end_ = time;
  exit_code_ = exit_code;
  why_ = std::move(why);
  changed_.notify_all();
}

// Words and log on a thread that nobody waits for: an actor may hang because of what they need, too.
void end_guard::watch() {
  std::unique_lock lock(mutex_);
  while (!is_over_ && clock::now() < end_ - words_before_end) {
    if (end_ == clock::time_point::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, end_ - words_before_end);
    }
  }
  if (is_over_) return;
  std::thread words([this, why = why_] {
    last_words_();
    spdlog::critical("{}: the process ends", why);
  });
  if (!changed_.wait_for(lock, words_before_end, [this] { return is_over_; })) exit_with_children(exit_code_);
  lock.unlock();
  words.join();
}

}  // namespace troupe::cli
