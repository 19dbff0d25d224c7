#include "tests/actors/drafter/drafting_fixture.hpp"

namespace troupe::test {

company_setup repeating_setup(speculative_method method, std::int32_t num_speculative_tokens) {
  company_setup setup;
  setup.script = [](const sample_row& row) { return 'a' + row.position % 4; };
  setup.adjust = [=](supervisor_parts& parts) {
    parts.drafts.emplace();
    parts.drafts->config.method = method;
    parts.drafts->config.adaptive = false;
    parts.drafts->config.num_speculative_tokens = num_speculative_tokens;
  };
  return setup;
}

}  // namespace troupe::test
