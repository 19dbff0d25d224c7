// What `troupe top` shows, as lines of text.
#pragma once
#include <string>
#include <vector>

#include "metrics/service_figures.hpp"

namespace troupe::cli {

// At most `width` columns wide. `health`: what the service says of itself, "ready" or why not. `actors`:
// lines about them, in place of what the metrics say; none: the metrics'.
std::string top_view(const metrics::service_figures& now, const std::string& health,
                     const std::vector<std::string>& actors, int width);

}  // namespace troupe::cli
