// Work that would keep a server's thread from its other clients, such as reading a body of a megabyte.
#pragma once
#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>

#include "actors/net/sockets/asio.hpp"

namespace troupe::net {

// One thread of the lowest priority, so that it takes next to nothing from the compute team either. What has
// least to read goes first, so that nobody waits behind a queue of those that have most.
class background_worker {
 public:
  // What takes a millisecond or more to read: bytes of JSON.
  static constexpr std::size_t large_text = 64U << 10U;

  background_worker();
  ~background_worker();  // when nobody waits any more
  background_worker(const background_worker&) = delete;
  background_worker& operator=(const background_worker&) = delete;

  // Does `work`, which reads `bytes`, on the other thread and comes back to `context`, on whose thread this
  // is called. What it throws is thrown here. Where `gone` is true by its turn, it is not done. `work` and
  // all that it refers to belong to the caller, who awaits the end whatever happens.
  asio::awaitable<void> run(asio::io_context& context, std::size_t bytes, const std::atomic<bool>& gone,
                            const std::function<void()>& work);

 private:
  void work_on_smallest();

  std::mutex mutex_;
  std::multimap<std::size_t, std::function<void()>> waiting_;  // by their bytes
  asio::thread_pool thread_{1};
};

}  // namespace troupe::net
