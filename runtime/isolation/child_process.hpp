// A child process that is gone as soon as this one is.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/isolation/process_handle.hpp"
#include "runtime/result.hpp"

namespace troupe {

// What a child runs; as it stands here, what this process runs, as `troupe runner-process`.
struct child_program {
  std::string path = "/proc/self/exe";
  std::vector<std::string> arguments = {"troupe", "runner-process"};  // the first is its name
  std::vector<std::string> withheld = {};  // variables of the environment that are none of its business
  // What is behind `arguments`, asked for at each start, on any thread; unset: nothing.
  std::function<std::vector<std::string>()> later_arguments = {};
};

class child_process {
 public:
  // The first descriptor that a child is given; the others follow it.
  static constexpr int first_descriptor = 3;
  // Says whose child it is, by a process id.
  static constexpr const char* parent_variable = "_TROUPE_CHILD_OF";

  // Adds two arguments: the number of descriptors, and of this process. The child inherits `descriptors`
  // alone, and no signal that ends a service reaches it: SIGINT, SIGTERM and SIGHUP are blocked. It must call
  // end_with_parent(), and, if it is to be told from its own faults that others send crash signals,
  // end_by_sent_crash_signals(): until then those wait. Its environment has parent_variable.
  // Errors: unavailable (what the system refuses).
  static result<std::unique_ptr<child_process>> start(const child_program& program,
                                                      std::span<const int> descriptors);
  // Ends it, and waits until it is gone with all of its memory.
  ~child_process();
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  const std::shared_ptr<process_handle>& handle() const { return handle_; }
  std::string how_it_ended() { return handle_->how_it_ended(); }

 private:
  explicit child_process(std::shared_ptr<process_handle> handle) : handle_(std::move(handle)) {}

  std::shared_ptr<process_handle> handle_;
};

// Ends (SIGKILL) a child that start() is about to start, on whatever thread, and has not come back with: it
// may hang before anybody knows it. No other child of this process is touched.
void kill_child_being_started();

// In the child, first of all: the kernel ends it (SIGKILL) when its parent `id` is gone. False: it is
// already.
bool end_with_parent(pid_t id);

}  // namespace troupe
