#pragma once

#include <string>
#include <string_view>

namespace troupe::test {

// Absolute path of a file of the source folder, from its path there ("tests/data/dequantized.json").
std::string source_path(std::string_view relative);

// The model that ./quickstart and ./check fetch.
std::string default_model_path();

// The runner process of the tests (tests/runtime/isolation/runner_main.cpp).
std::string runner_program_path();

// The management library of the tests (tests/metrics/fake_nvml.cpp).
std::string fake_nvml_path();

// How often a random test repeats itself: `times` as given, ten times that in ./check --full
// (TROUPE_TEST_LONG=1); under a sanitizer a fifth of both, at least once: it looks at the same code, not at
// more luck.
unsigned long long repeated(unsigned long long times);

}  // namespace troupe::test
