// What a simulation requires of what it simulates.
#pragma once
#include <stdexcept>
#include <string>

namespace troupe {

struct broken_promise : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws where a promise is not kept.
inline void require(bool kept, const std::string& promise) {
  if (!kept) throw broken_promise(promise);
}

}  // namespace troupe
