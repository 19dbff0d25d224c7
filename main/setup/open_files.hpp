// The files that may be open at once, and how many clients they leave room for.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "config/settings.hpp"

namespace troupe {

// Lets this process open as many files as its clients may need, as far as the system allows that.
void allow_open_files(const config::settings& settings);
// What is wrong where not even the service itself and its first clients have enough; else nothing.
std::optional<std::string> lack_of_open_files();
// The max_connections of each port that the files have room for, 1 at least.
std::size_t connections_with_files(const config::settings& settings);

}  // namespace troupe
