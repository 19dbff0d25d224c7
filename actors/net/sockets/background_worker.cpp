#include "actors/net/sockets/background_worker.hpp"

#include <exception>

#include "actors/net/sockets/abandonable_work.hpp"
#include "actors/net/sockets/async_event.hpp"
#include "actors/net/sockets/thread_priority.hpp"

namespace troupe::net {

background_worker::background_worker() {
  asio::post(thread_, [] { use_lowest_priority(); });
}

background_worker::~background_worker() { thread_.join(); }

asio::awaitable<void> background_worker::run(asio::io_context& context, std::size_t bytes,
                                             const std::atomic<bool>& gone,
                                             const std::function<void()>& work) {
  async_event done(context);
  std::exception_ptr failure;
  {
    const std::lock_guard held(mutex_);
    waiting_.emplace(bytes, [&] {
      try {
        if (!gone) work();
      } catch (...) {
        failure = std::current_exception();
      }
      asio::post(context, [&done] { done.notify(); });
    });
  }
  asio::post(thread_, [this] { work_on_smallest(); });
  co_await done.wait();
  if (failure) std::rethrow_exception(failure);
}

// As many are posted as wait.
void background_worker::work_on_smallest() {
  std::unique_lock held(mutex_);
  const auto next = waiting_.extract(waiting_.begin());
  held.unlock();
  const abandonable_work in_progress;
  next.mapped()();
}

}  // namespace troupe::net
