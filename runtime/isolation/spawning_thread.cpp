#include "runtime/isolation/spawning_thread.hpp"

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {
namespace {

class spawning_thread {
 public:
  spawning_thread() : thread_([this] { work(); }) {}
  ~spawning_thread() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  spawning_thread(const spawning_thread&) = delete;
  spawning_thread& operator=(const spawning_thread&) = delete;

  int run(std::function<int()> start) {
    std::packaged_task<int()> task(std::move(start));
    std::future<int> done = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(task));
    }
    changed_.notify_all();
    return done.get();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::vector<std::packaged_task<int()>> now = std::exchange(waiting_, {});
      lock.unlock();
      for (auto& task : now) task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::packaged_task<int()>> waiting_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace

int run_on_spawning_thread(std::function<int()> start) {
  static spawning_thread thread;
  return thread.run(std::move(start));
}

}  // namespace troupe
