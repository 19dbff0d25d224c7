// What must hold for every input: where it does not, the fuzzer keeps the input.
#pragma once
#include <cstdio>
#include <cstdlib>

namespace troupe::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace troupe::fuzz
