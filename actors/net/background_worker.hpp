// Work that would keep a server's thread from its other clients, such as reading a body of a megabyte.
#pragma once
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <functional>

#include "actors/net/asio.hpp"

namespace troupe::net {

// One thread of the lowest priority, so that it takes next to nothing from the compute team either; work is
// done in the order in which it comes.
class background_worker {
 public:
  // What takes a millisecond or more to read: bytes of JSON.
  static constexpr std::size_t large_text = 64U << 10U;

  background_worker();
  ~background_worker();  // when nobody waits any more
  background_worker(const background_worker&) = delete;
  background_worker& operator=(const background_worker&) = delete;

  // Does `work` on the other thread and comes back to `context`, on whose thread this is called. What it
  // throws is thrown here. `work` and all that it refers to belong to the caller, who awaits the end whatever
  // happens.
  asio::awaitable<void> run(asio::io_context& context, const std::function<void()>& work);

 private:
  asio::thread_pool thread_{1};
};

}  // namespace troupe::net
