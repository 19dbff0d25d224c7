#include "actors/net/call_back.hpp"

#include <spdlog/spdlog.h>

namespace troupe {

void report_thrown(const char* what) noexcept {
  spdlog::error("a callback of the embedding program has thrown: {}", what);
}

}  // namespace troupe
