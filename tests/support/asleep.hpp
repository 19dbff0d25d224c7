// To know of a thread of this process that it sleeps.
#pragma once
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace troupe::test {

inline pid_t this_thread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

// Until the thread, once it is known, does not run any more: it waits for something.
inline void wait_until_asleep(const std::atomic<pid_t>& thread) {
  for (char state = 'R'; state != 'S'; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    if (thread == 0) continue;
    std::string word;
    std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
    for (int i = 0; i < 3; ++i) stat >> word;  // number, name, state
    state = word.empty() ? 'R' : word[0];
  }
}

}  // namespace troupe::test
