// What the operating system says of this process, and of another.
#pragma once
#include <cstdint>
#include <optional>

namespace troupe::metrics {

struct process_usage {
  double cpu_seconds = 0;    // user and system
  double start_seconds = 0;  // since 1970
  double virtual_bytes = 0;
  double resident_bytes = 0;
  double open_descriptors = 0;
  double max_descriptors = 0;
};

// From /proc (proc(5)); nothing where that cannot be read.
std::optional<process_usage> read_process_usage();

// The part that is told of any process.
struct other_process_usage {
  double cpu_seconds = 0;
  double resident_bytes = 0;
};
std::optional<other_process_usage> read_process_usage(std::int32_t id);

}  // namespace troupe::metrics
