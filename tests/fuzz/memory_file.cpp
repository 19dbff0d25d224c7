#include "tests/fuzz/memory_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/require.hpp"

namespace troupe::fuzz {

memory_file::memory_file(std::string_view content)
    : descriptor_(::memfd_create("fuzzed", MFD_CLOEXEC)),
      path_("/proc/self/fd/" + std::to_string(descriptor_)) {
  require(descriptor_ >= 0, "a file in memory can be made");
  const auto written = ::write(descriptor_, content.data(), content.size());
  require(written == static_cast<ssize_t>(content.size()), "a file in memory can be written");
}

memory_file::~memory_file() { ::close(descriptor_); }

}  // namespace troupe::fuzz
