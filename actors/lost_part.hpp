// What a request is told whose part of the service has ended, or all of it does.
#pragma once
#include "runtime/result.hpp"

namespace troupe {

// `unavailable` for who asks afterwards.
inline error lost_part(error_code code = error_code::internal) {
  return {code, "a part of the service has ended"};
}

inline error shutting_down() { return {error_code::unavailable, "the service is shutting down"}; }

}  // namespace troupe
