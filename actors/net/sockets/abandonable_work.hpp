// Work that may take as long as the machine likes, and whose result nobody wants once the service ends: a
// grammar that is compiled or a large body that is read at the lowest priority, a text of megabytes that is
// turned into tokens. Who ends a process need not wait for it.
#pragma once
#include <atomic>

namespace troupe {

class abandonable_work {
 public:
  abandonable_work() { ++in_progress_; }
  ~abandonable_work() { --in_progress_; }
  abandonable_work(const abandonable_work&) = delete;
  abandonable_work& operator=(const abandonable_work&) = delete;

  // Of any thread of this process.
  static bool in_progress() { return in_progress_ > 0; }

 private:
  static inline std::atomic<int> in_progress_ = 0;
};

}  // namespace troupe
