#pragma once
#include "runtime/request.hpp"

namespace troupe::test {

// A batch that begins with one of these meets a fault in the runner process of the tests.
inline constexpr token_id throws = 3;
inline constexpr token_id kills = 4;
inline constexpr token_id hangs = 5;
inline constexpr token_id loses = 2;    // the device
inline constexpr token_id raises = 29;  // a segmentation fault
inline constexpr token_id faults = 31;  // for real
inline constexpr token_id aborts = 30;
inline constexpr token_id lacks = 28;  // memory of the device

}  // namespace troupe::test
