// A company that drafts.
#pragma once
#include "tests/actors/company_fixture.hpp"

namespace troupe::test {

// What it is asked repeats itself.
company_setup repeating_setup(speculative_method method, std::int32_t num_speculative_tokens);

}  // namespace troupe::test
