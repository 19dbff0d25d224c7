#include "tests/actors/company_members_fixture.hpp"

#include <utility>

namespace troupe::test {
namespace {

// `find`: gives the actor that fills the role now.
template <class Find>
company_member member(std::string name, Find find, bool takes_requests_along = false) {
  return {std::move(name), [find](stage& s) { s.kill(find(s.roster())); },
          [find](stage& s) { return s.lose_message(find(s.roster())); }, takes_requests_along};
}

auto tokenizer_at(std::size_t shard) {
  return [shard](const company_roster& r) { return r.tokenizers[shard]; };
}

}  // namespace

company_setup with_drafts() {
  company_setup setup;
  setup.adjust = [](supervisor_parts& parts) {
    parts.drafts.emplace();
    parts.drafts->config.adaptive = false;
  };
  return setup;
}

std::vector<company_member> company_members() {
  return {
      member("kv_cache", [](const company_roster& r) { return r.kv_cache; }),
      member("model_runner", [](const company_roster& r) { return r.model_runner; }),
      member("quick grammar_compiler", [](const company_roster& r) { return r.compilers.quick; }),
      member("patient grammar_compiler", [](const company_roster& r) { return r.compilers.patient; }),
      member("structured_output", [](const company_roster& r) { return r.structured_output; }),
      member("drafter", [](const company_roster& r) { return r.drafter; }),
      member(
          "scheduler", [](const company_roster& r) { return r.scheduler; }, true),
      member("tokenizer 0", tokenizer_at(0), true),
      member("tokenizer 1", tokenizer_at(1), true),
      member("tokenizer 2", tokenizer_at(2), true),
      member("text worker", [](const company_roster& r) { return r.text_worker; }),
      member(
          "gateway", [](const company_roster& r) { return r.gateway; }, true),
  };
}

}  // namespace troupe::test
