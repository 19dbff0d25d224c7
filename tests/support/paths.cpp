#include "tests/support/paths.hpp"

#include <algorithm>
#include <cstdlib>

namespace troupe::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

std::string source_path(std::string_view relative) {
  return std::string(TROUPE_SOURCE_DIR "/").append(relative);
}

std::string default_model_path() { return source_path("models/SmolLM2-135M-Instruct.Q4_1.gguf"); }

std::string runner_program_path() { return TROUPE_TEST_RUNNER; }

std::string fake_nvml_path() { return TROUPE_FAKE_NVML; }

unsigned long long repeated(unsigned long long times) {
  const unsigned long long wanted = std::getenv("TROUPE_TEST_LONG") != nullptr ? 10 * times : times;
  return is_sanitized ? std::max(wanted / 5, 1ULL) : wanted;
}

}  // namespace troupe::test
