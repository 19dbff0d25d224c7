// What a request is told whose part of the service has ended.
#pragma once
#include "runtime/result.hpp"

namespace troupe {

// `unavailable` for who asks afterwards.
inline error lost_part(error_code code = error_code::internal) {
  return {code, "a part of the service has ended"};
}

}  // namespace troupe
