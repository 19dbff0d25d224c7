#include "runtime/isolation/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <functional>
#include <future>
#include <thread>
#include <utility>

extern "C" {
#include <sys/pidfd.h>  // of glibc 2.36 forgets to say that it is C
}

namespace troupe {
namespace {

// A child hears of the end of the thread that started it, not of the process (prctl(2)). So they are all
// started by one that lives as long as the process, whoever wants them.
class starting_thread {
 public:
  starting_thread() : thread_([this] { work(); }) {}
  ~starting_thread() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  starting_thread(const starting_thread&) = delete;
  starting_thread& operator=(const starting_thread&) = delete;

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

  static starting_thread& of_this_process() {
    static starting_thread thread;
    return thread;
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
    sigset_t blocked;
    sigemptyset(&blocked);
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

std::string describe_end(const siginfo_t& end) {
  if (end.si_code == CLD_EXITED) return fmt::format("exit code {}", end.si_status);
  return fmt::format("signal {} ({})", end.si_status, ::strsignal(end.si_status));
}

}  // namespace

result<std::unique_ptr<child_process>> child_process::start(const std::string& program,
                                                            std::vector<std::string> arguments,
                                                            std::span<const int> descriptors) {
  const copied_descriptors inherited(descriptors);
  if (!inherited.complete()) return fail(error_code::io_error, "no descriptors are left for a child process");
  const spawn_settings settings(inherited.get());
  arguments.push_back(std::to_string(::getpid()));
  std::vector<char*> words;
  for (std::string& each : arguments) words.push_back(each.data());
  words.push_back(nullptr);
  pid_t id = 0;
  const int failed = starting_thread::of_this_process().run([&] {
    return ::posix_spawn(&id, program.c_str(), &settings.files, &settings.attributes, words.data(), environ);
  });
  if (failed != 0)
    return fail(error_code::io_error, fmt::format("{} cannot be started: {}", program, ::strerror(failed)));
  const int descriptor = ::pidfd_open(id, 0);
  if (descriptor < 0) {
    const std::string why = ::strerror(errno);
    ::kill(id, SIGKILL);
    ::waitpid(id, nullptr, 0);
    return fail(error_code::io_error, fmt::format("process {} cannot be watched: {}", id, why));
  }
  return std::unique_ptr<child_process>(new child_process(id, descriptor));
}

child_process::~child_process() {
  kill();
  how_it_ended();
  ::close(descriptor_);
}

void child_process::kill() const { ::pidfd_send_signal(descriptor_, SIGKILL, nullptr, 0); }

std::string child_process::how_it_ended() {
  const std::lock_guard lock(waiting_);
  if (!end_.empty()) return end_;
  siginfo_t end{};
  int waited = 0;
  do {
    waited = ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(descriptor_), &end, WEXITED);
  } while (waited < 0 && errno == EINTR);
  end_ = waited == 0 ? describe_end(end) : "an unknown end";  // where SIGCHLD is ignored nobody is told
  return end_;
}

bool end_with_parent(pid_t id) { return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == id; }

}  // namespace troupe
