#include "runtime/gguf/mapping.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace troupe::gguf {
namespace {

class descriptor {
 public:
  explicit descriptor(int number) : number_(number) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

tl::unexpected<error> system_failure(const std::string& path, const char* what) {
  const int number = errno;
  auto code = error_code::io_error;
  if (number == ENOENT) code = error_code::not_found;
  if (number == ENOMEM) code = error_code::resource_exhausted;  // of the process, say by ulimit -v
  return fail(code, fmt::format("{}: {}: {}", path, what, std::generic_category().message(number)), "model");
}

}  // namespace

result<mapping> mapping::open(const std::string& path) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return system_failure(path, "cannot open");
  return of(file.get(), path);
}

result<mapping> mapping::of(int descriptor, const std::string& name) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return system_failure(name, "cannot read its size");
  if (!S_ISREG(status.st_mode)) return fail(error_code::io_error, name + ": not a regular file", "model");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return mapping(nullptr, 0);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) return system_failure(name, "cannot map");
  return mapping(static_cast<const std::byte*>(address), size);
}

mapping::mapping(mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

mapping& mapping::operator=(mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

mapping::~mapping() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace troupe::gguf
