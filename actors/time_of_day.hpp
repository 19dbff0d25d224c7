// The date: for chat templates that tell it to the model, as a part of the prompt, and of the service's
// start. It decides nothing here.
#pragma once
#include <cstdint>
#include <ctime>
#include <optional>

namespace troupe {

// Now, in seconds since the epoch.
std::int64_t time_of_day();

// The same on the clock of the service's place. Nothing where the year is too large for it.
std::optional<std::tm> local_time(std::int64_t seconds);

}  // namespace troupe
