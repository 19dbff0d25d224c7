#include "actors/net/sockets/thread_priority.hpp"

#include <sys/resource.h>
#include <unistd.h>

namespace troupe {

// In Linux nice belongs to a thread; POSIX means the process.
bool use_lowest_priority() { return setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19) == 0; }

}  // namespace troupe
