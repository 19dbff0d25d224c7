#include "tests/support/paths.hpp"

#include <cstdlib>

namespace troupe::test {

std::string source_path(std::string_view relative) {
  return std::string(TROUPE_SOURCE_DIR "/").append(relative);
}

std::string default_model_path() { return source_path("models/SmolLM2-135M-Instruct.Q4_1.gguf"); }

unsigned long long repeated(unsigned long long times) {
  return std::getenv("TROUPE_TEST_LONG") != nullptr ? 10 * times : times;
}

}  // namespace troupe::test
