// What a process has done since it began, for who has to tell one that is slow from one that hangs.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <optional>

namespace troupe {

struct process_work {
  double cpu_seconds = 0;
  // Each grows with what is read from a disk: pages of mapped files that were waited for, and bytes; 0 where
  // /proc (proc(5)) does not say.
  std::uint64_t major_faults = 0;
  std::uint64_t read_bytes = 0;
};

// What a clock of CPU time (clock_gettime(2)) tells. Nothing where there is no such clock (any more).
std::optional<double> cpu_seconds_on(clockid_t clock);

// Of the process `id`. Nothing where there is no such process.
std::optional<process_work> read_process_work(pid_t id);
// Of this one, but for what the thread that asks has computed.
std::optional<process_work> read_work_of_other_threads();

}  // namespace troupe
