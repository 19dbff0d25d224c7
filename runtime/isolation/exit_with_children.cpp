#include "runtime/isolation/exit_with_children.hpp"

#include <sys/types.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace troupe {
namespace {

// Each thread has those that it has started, proc(5); where the kernel keeps no such lists nobody is found.
void kill_children() {
  std::error_code gone;
  for (std::filesystem::directory_iterator each("/proc/self/task", gone), end; !gone && each != end;
       each.increment(gone)) {
    std::ifstream children(each->path() / "children");
    for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
  }
}

}  // namespace

void exit_with_children(int code) {
  try {
    kill_children();
  } catch (...) {  // without memory for it
  }
  std::_Exit(code);
}

}  // namespace troupe
