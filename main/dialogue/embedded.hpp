// A company inside this process for one person: `troupe run` and `troupe chat`.
#pragma once
#include <memory>
#include <tl/expected.hpp>

#include "actors/company.hpp"
#include "config/load.hpp"
#include "main/service/signals.hpp"

namespace troupe::cli {

// Loads, starts and warms up, with a progress bar on a terminal. One sequence at a time unless the settings
// say otherwise, and only warnings are logged unless they say otherwise. Prints what fails: then the exit
// code.
tl::expected<std::unique_ptr<company>, int> start_embedded(config::setting_sources sources);

}  // namespace troupe::cli
