// Options that are right one by one, and together hardly what somebody wants.
#pragma once
#include <string>
#include <vector>

#include "config/load.hpp"

namespace troupe::config {

// Once the device has chosen what nobody set (main/setup/choose_device.hpp). A line for each, with the origin
// of what it is about: a step's tokens that are fewer than the requests which may run, and options that
// others, or the CPU, leave without effect.
std::vector<std::string> warnings_about(const loaded_settings& loaded);

}  // namespace troupe::config
