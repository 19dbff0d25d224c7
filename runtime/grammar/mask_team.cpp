#include "runtime/grammar/mask_team.hpp"

#include <utility>

namespace troupe::grammar {

mask_team::mask_team(std::size_t threads) {
  for (std::size_t i = 1; i < threads; ++i) helpers_.emplace_back([this] { help(); });
}

mask_team::~mask_team() {
  {
    const std::lock_guard held(mutex_);
    is_over_ = true;
  }
  begun_.notify_all();
  for (std::thread& each : helpers_) each.join();
}

void mask_team::help() {
  std::unique_lock held(mutex_);
  while (true) {
    begun_.wait(held, [this] { return is_over_ || next_ < count_; });
    if (is_over_) return;
    work_on(held);
  }
}

// A mask takes microseconds and more: a lock for each is little beside it.
void mask_team::work_on(std::unique_lock<std::mutex>& held) {
  while (next_ < count_) {
    const std::size_t mine = next_++;
    const auto& work = *work_;
    held.unlock();
    std::exception_ptr thrown;
    try {
      work(mine);
    } catch (...) {
      thrown = std::current_exception();
    }
    held.lock();
    if (thrown) thrown_ = std::move(thrown);
    if (--left_ == 0) done_.notify_one();
  }
}

void mask_team::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (helpers_.empty() || count < 2) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::unique_lock held(mutex_);
  work_ = &work;
  next_ = 0;
  count_ = left_ = count;
  begun_.notify_all();
  work_on(held);
  done_.wait(held, [this] { return left_ == 0; });
  count_ = 0;
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

}  // namespace troupe::grammar
