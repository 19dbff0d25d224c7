// The threads that fill the masks of one step together.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe::grammar {

class mask_team {
 public:
  // The thread that calls run() is one of them: with 1 nothing is started.
  explicit mask_team(std::size_t threads);
  ~mask_team();
  mask_team(const mask_team&) = delete;
  mask_team& operator=(const mask_team&) = delete;

  // Calls work(0) to work(count - 1), each once, on whichever thread is free, and returns when all are done.
  // What one of them throws is thrown here, once the others are done. One caller at a time.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void help();
  void work_on(std::unique_lock<std::mutex>& held);

  std::mutex mutex_;
  std::condition_variable begun_, done_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t next_ = 0, count_ = 0, left_ = 0;
  std::exception_ptr thrown_;
  bool is_over_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace troupe::grammar
