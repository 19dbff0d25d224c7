#include "runtime/isolation/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <string_view>

#include "runtime/isolation/crash_signals.hpp"
#include "runtime/isolation/spawning_thread.hpp"

extern "C" {
#include <sys/pidfd.h>  // of glibc 2.36 forgets to say that it is C
}

namespace troupe {
namespace {

// Copies of descriptors beyond those that a child is given, so that none is overwritten before it is copied.
class copied_descriptors {
 public:
  explicit copied_descriptors(std::span<const int> of) {
    const int beyond = child_process::first_descriptor + static_cast<int>(of.size());
    for (const int each : of) copies_.push_back(::fcntl(each, F_DUPFD_CLOEXEC, beyond));
  }
  ~copied_descriptors() {
    for (const int each : copies_)
      if (each >= 0) ::close(each);
  }
  copied_descriptors(const copied_descriptors&) = delete;
  copied_descriptors& operator=(const copied_descriptors&) = delete;

  bool complete() const { return std::find(copies_.begin(), copies_.end(), -1) == copies_.end(); }
  const std::vector<int>& get() const { return copies_; }

 private:
  std::vector<int> copies_;
};

struct spawn_settings {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  explicit spawn_settings(const std::vector<int>& descriptors) {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    int place = child_process::first_descriptor;
    for (const int each : descriptors) posix_spawn_file_actions_adddup2(&files, each, place++);
    posix_spawn_file_actions_addclosefrom_np(&files, place);
    sigset_t blocked = crash_signals();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&blocked, signal);
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  }
  ~spawn_settings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  spawn_settings(const spawn_settings&) = delete;
  spawn_settings& operator=(const spawn_settings&) = delete;
};

// Pointers to words that somebody else keeps, as the system wants them.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& each : words) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<char*> environment_without(const std::vector<std::string>& withheld) {
  std::vector<char*> rest;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (name != child_process::parent_variable && std::ranges::find(withheld, name) == withheld.end())
      rest.push_back(*each);
  }
  rest.push_back(nullptr);
  return rest;
}

// The children that start() has come back with. The thread that starts them has no others but the one that is
// being started.
class known_children {
 public:
  void add(pid_t id) {
    const std::lock_guard lock(mutex_);
    ids_.insert(id);
  }
  // One that has ended: its number may be another one's by now.
  void remove(pid_t id) {
    const std::lock_guard lock(mutex_);
    ids_.erase(ids_.find(id));
  }
  void kill_others_of(pid_t thread) {
    const std::lock_guard lock(mutex_);
    std::ifstream children(fmt::format("/proc/self/task/{}/children", thread));
    for (pid_t child = 0; children >> child;)
      if (!ids_.contains(child)) ::kill(child, SIGKILL);
  }

 private:
  std::mutex mutex_;
  std::multiset<pid_t> ids_;
};

known_children& children_here() {
  static auto& known = *new known_children;  // children of static objects end after those of functions
  return known;
}

std::atomic<pid_t> spawning_thread_id = 0;

}  // namespace

void kill_child_being_started() {
  if (const pid_t thread = spawning_thread_id) children_here().kill_others_of(thread);
}

result<std::unique_ptr<child_process>> child_process::start(const child_program& program,
                                                            std::span<const int> descriptors) {
  const copied_descriptors inherited(descriptors);
  if (!inherited.complete())
    return fail(error_code::unavailable, "no descriptors are left for a child process");
  const spawn_settings settings(inherited.get());
  std::vector<std::string> arguments = program.arguments;
  if (program.later_arguments)
    for (std::string& argument : program.later_arguments()) arguments.push_back(std::move(argument));
  arguments.push_back(std::to_string(descriptors.size()));
  arguments.push_back(std::to_string(::getpid()));
  const std::vector<char*> words = pointers_to(arguments);
  std::string parent = fmt::format("{}={}", parent_variable, ::getpid());
  std::vector<char*> environment = environment_without(program.withheld);
  environment.insert(environment.end() - 1, parent.data());
  pid_t id = 0;
  const int failed = run_on_spawning_thread([&] {
    spawning_thread_id = ::gettid();
    const int code = ::posix_spawn(&id, program.path.c_str(), &settings.files, &settings.attributes,
                                   words.data(), environment.data());
    if (code == 0) children_here().add(id);
    return code;
  });
  if (failed != 0)
    return fail(error_code::unavailable,
                fmt::format("{} cannot be started: {}", program.path, ::strerror(failed)));
  const int descriptor = ::pidfd_open(id, 0);
  if (descriptor < 0) {
    const std::string why = ::strerror(errno);
    ::kill(id, SIGKILL);
    ::waitpid(id, nullptr, 0);
    children_here().remove(id);
    return fail(error_code::unavailable, fmt::format("process {} cannot be watched: {}", id, why));
  }
  return std::unique_ptr<child_process>(new child_process(std::make_shared<process_handle>(id, descriptor)));
}

child_process::~child_process() {
  handle_->kill();
  handle_->how_it_ended();
  children_here().remove(handle_->id());
}

bool end_with_parent(pid_t id) { return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == id; }

}  // namespace troupe
