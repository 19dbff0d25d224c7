// A child process that is gone as soon as this one is.
#pragma once
#include <sys/types.h>

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace troupe {

class child_process {
 public:
  // The first descriptor that a child is given; the others follow it.
  static constexpr int first_descriptor = 3;

  // Starts `program` with the arguments (the first is its name, the last, added here, this process's number).
  // It inherits `descriptors` alone, and no signal that ends a service reaches it: SIGINT, SIGTERM and SIGHUP
  // are blocked. It must call end_with_parent(). Errors: io_error.
  static result<std::unique_ptr<child_process>> start(const std::string& program,
                                                      std::vector<std::string> arguments,
                                                      std::span<const int> descriptors);
  // Ends it.
  ~child_process();
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  pid_t id() const { return id_; }
  // Readable once it has ended: pidfd_open(2).
  int descriptor() const { return descriptor_; }
  // At once (SIGKILL). Any thread.
  void kill() const;
  // Waits for its end: "signal 11 (Segmentation fault)", "exit code 1".
  std::string how_it_ended();

 private:
  child_process(pid_t id, int descriptor) : id_(id), descriptor_(descriptor) {}

  pid_t id_;
  int descriptor_;
  std::mutex waiting_;
  std::string end_;  // empty: nobody has waited for it yet
};

// In the child, first of all: the kernel ends it (SIGKILL) when its parent `id` is gone. False: it is
// already.
bool end_with_parent(pid_t id);

}  // namespace troupe
