#include "runtime/isolation/kept_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string_view>

namespace troupe {
namespace {

constexpr std::size_t piece_bytes = std::size_t{16} << 10U;

// Reads a piece at `place` and adds it to `digest`.
std::uint64_t with_piece(std::uint64_t digest, int descriptor, off_t place) {
  std::array<char, piece_bytes> piece;
  const ssize_t got = ::pread(descriptor, piece.data(), piece.size(), place);
  const std::string_view read(piece.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  return (digest ^ std::hash<std::string_view>{}(read)) * 0x100000001B3ULL + 1;  // as FNV does with bytes
}

}  // namespace

kept_file::kept_file(const std::string& path)
    : name_(path),
      descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
      version_(version_now()),
      sample_(sample_now()) {}

kept_file::~kept_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

kept_file::version kept_file::version_now() const {
  struct stat found {};
  if (::fstat(descriptor_, &found) != 0) return {};
  return {found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

std::uint64_t kept_file::sample_now() const {
  constexpr off_t whole = off_t{1} << 20U;  // of the beginning, where the file says what is in it
  constexpr off_t parts = 256;              // of the rest
  constexpr auto step = static_cast<off_t>(piece_bytes);
  const off_t bytes = version_.bytes;
  std::uint64_t digest = 0;
  for (off_t place = 0; place < std::min(bytes, whole); place += step)
    digest = with_piece(digest, descriptor_, place);
  if (bytes <= whole) return digest;
  const off_t last = std::max(whole, bytes - step);
  for (off_t part = 0; part <= parts; ++part)
    digest = with_piece(digest, descriptor_, whole + (last - whole) / parts * part);
  return with_piece(digest, descriptor_, last);
}

result<void> kept_file::check_unchanged(bool are_weights_kept) const {
  const version now = version_now();
  if (now == version_) return {};
  if (are_weights_kept && now.bytes == version_.bytes && sample_now() == sample_) return {};
  return fail(error_code::unavailable,
              fmt::format("{} has been written to since the service opened it, so that its weights are no "
                          "longer those that answers were begun with: end the service and start it again",
                          name_));
}

}  // namespace troupe
