// How a drain went for the clients.
#pragma once
#include <cstdint>
#include <string_view>

namespace troupe {

// The worse the later.
enum class drain_outcome : std::uint8_t {
  complete,         // every request had finished, and its client read the answer
  connections_cut,  // every request had finished; clients had not read to the end, or kept connections open
  part_lost,        // an actor ended meanwhile: requests that it held ended with an error
  requests_cut,     // the grace was over before some requests were
};

inline std::string_view describe(drain_outcome outcome) {
  switch (outcome) {
    case drain_outcome::complete:
      return "every request had finished";
    case drain_outcome::connections_cut:
      return "every request had finished; connections were cut off whose clients had not read to the end or "
             "did not close them";
    case drain_outcome::part_lost:
      return "a part of the service ended before the rest; requests that it held ended with an error";
    case drain_outcome::requests_cut:
      break;
  }
  return "requests were cut off";
}

}  // namespace troupe
