// A child process as others than its owner may know it. Where the last of them lets go, nothing ends and
// nobody waits.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/isolation/process_work.hpp"

namespace troupe {

// Any thread.
class process_handle {
 public:
  // `descriptor`: of pidfd_open(2), taken over.
  process_handle(pid_t id, int descriptor) : id_(id), descriptor_(descriptor) {}
  ~process_handle();
  process_handle(const process_handle&) = delete;
  process_handle& operator=(const process_handle&) = delete;

  pid_t id() const { return id_; }
  // Readable once it has ended.
  int descriptor() const { return descriptor_; }
  // At once (SIGKILL).
  void kill();
  bool has_ended() const;
  bool has_ended_by_itself() const { return has_ended() && !is_killed_; }  // or by others than kill()
  // Whether it has ended, by a signal that was not of kill() and that no crash raises, or in a way that
  // nobody was told of. A crash signal that was sent is one where it has called end_by_sent_crash_signals().
  bool was_killed_by_others();
  // What each of its threads does, for who has to find out why it hangs: name, state as of proc(5), core, and
  // what in the kernel it waits for, "troupe-runner S on 0 in futex_do_wait, ..."; empty where it has ended.
  std::string describe_threads() const;
  // What it has done so far; nothing where it has ended.
  std::optional<process_work> work() const;
  // Waits for its end: "signal 11 (Segmentation fault)", "exit code 1".
  std::string how_it_ended();
  // Likewise; nothing where it has none.
  std::optional<int> exit_code();
  // Waits for its end, too: the seconds of CPU time that it has used.
  double cpu_seconds();

 private:
  void wait();

  const pid_t id_;
  const int descriptor_;
  std::atomic<bool> is_killed_ = false;  // by kill()
  std::mutex waiting_;
  std::string end_;  // empty: nobody has waited for it yet
  std::optional<int> exit_code_;
  bool ended_by_sent_signal_ = false;
  double cpu_seconds_ = 0;
};

}  // namespace troupe
