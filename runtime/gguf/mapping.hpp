// A whole regular file mapped read-only.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "runtime/result.hpp"

namespace troupe::gguf {

class mapping {
 public:
  // Errors: not_found, io_error (not a regular file, no permission, the operating system's own); the message
  // names `path`. An empty file is an empty mapping.
  static result<mapping> open(const std::string& path);
  // Of a file that is open, whatever lies at its path by now and whoever may open it. Errors: those of
  // open(); the message names `name`.
  static result<mapping> of(int descriptor, const std::string& name);

  mapping(mapping&& other) noexcept;
  mapping& operator=(mapping&& other) noexcept;
  ~mapping();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  mapping(const std::byte* data, std::size_t size) : data_(data), size_(size) {}

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace troupe::gguf
