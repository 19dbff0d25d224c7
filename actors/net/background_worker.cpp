#include "actors/net/background_worker.hpp"

#include <exception>

#include "actors/net/async_event.hpp"
#include "actors/net/thread_priority.hpp"

namespace troupe::net {

background_worker::background_worker() {
  asio::post(thread_, [] { use_lowest_priority(); });
}

background_worker::~background_worker() { thread_.join(); }

asio::awaitable<void> background_worker::run(asio::io_context& context, const std::function<void()>& work) {
  async_event done(context);
  std::exception_ptr failure;
  asio::post(thread_, [&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    asio::post(context, [&done] { done.notify(); });
  });
  co_await done.wait();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace troupe::net
