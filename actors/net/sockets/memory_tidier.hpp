// Gives memory back to the system that an allocator would keep: of what became of a large body, such as a
// million small pieces, and of what was put between them. Larger pieces go back by themselves, see `troupe
// serve`, but where they found room among such ones.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

namespace troupe::net {

// A thread of usual priority, since malloc_trim() holds the lock of each arena: one of the lowest would let
// others wait for it. Takes milliseconds, where there is something.
class memory_tidier {
 public:
  // At the end of its life it asks, if it was of so many bytes.
  class after {
   public:
    after(memory_tidier& tidier, std::size_t bytes) : tidier_(tidier), bytes_(bytes) {}
    ~after() {
      if (bytes_ >= large) tidier_.ask();
    }
    after(const after&) = delete;
    after& operator=(const after&) = delete;

   private:
    static constexpr std::size_t large = 4U << 20U;

    memory_tidier& tidier_;
    std::size_t bytes_;
  };

  memory_tidier();
  ~memory_tidier();
  memory_tidier(const memory_tidier&) = delete;
  memory_tidier& operator=(const memory_tidier&) = delete;

  // Now and then in the time to come: who still holds something may let go of it later. Any thread.
  void ask();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  bool is_asked_ = false;
  std::thread thread_{};
};

}  // namespace troupe::net
