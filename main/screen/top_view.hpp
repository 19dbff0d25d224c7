// What `troupe top` shows, as lines of text.
#pragma once
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "metrics/service_figures.hpp"

namespace troupe::cli {

struct view_size {
  int width = 100;                                               // columns
  std::size_t height = std::numeric_limits<std::size_t>::max();  // lines
};

// Lines about the actors, as many as there are and fewer where they are more than `most`.
using actor_lines = std::function<std::vector<std::string>(std::size_t most)>;

// No larger than `size`; where it would be, what is left out last is told of. `health`: what the service says
// of itself, "ready" or why not. `actors`: in place of what the metrics say of them; unset: the metrics'.
std::string top_view(const metrics::service_figures& now, const std::string& health,
                     const actor_lines& actors, const view_size& size);

// One line of it: nothing in it moves the cursor, and it is no wider than `size`.
std::string view_line(const std::string& text, const view_size& size);

}  // namespace troupe::cli
