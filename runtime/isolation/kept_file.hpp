// A model's file, kept open for processes that start later: they read the same one, whatever lies at its path
// by then.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "runtime/result.hpp"

namespace troupe {

class kept_file {
 public:
  // Where it cannot be opened the descriptor is negative.
  explicit kept_file(const std::string& path);
  ~kept_file();
  kept_file(const kept_file&) = delete;
  kept_file& operator=(const kept_file&) = delete;
  int descriptor() const { return descriptor_; }

  // Errors: unavailable where it has been written to since it was opened: a process that reads it now would
  // have other weights. Where they lie packed elsewhere (`are_weights_kept`) it may have another time: then
  // its first mebibyte and some pages in each part of the rest are compared, not all of it.
  result<void> check_unchanged(bool are_weights_kept) const;

 private:
  struct version {
    off_t bytes = 0;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    bool operator==(const version&) const = default;
  };
  version version_now() const;
  std::uint64_t sample_now() const;

  std::string name_;
  int descriptor_;
  version version_;
  std::uint64_t sample_ = 0;
};

}  // namespace troupe
