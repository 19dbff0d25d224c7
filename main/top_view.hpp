// What `troupe top` shows, as lines of text.
#pragma once
#include <string>

#include "metrics/service_figures.hpp"

namespace troupe::cli {

// At most `width` columns wide. `health`: what the service says of itself, "ready" or why not.
std::string top_view(const metrics::service_figures& now, const std::string& health, int width);

}  // namespace troupe::cli
