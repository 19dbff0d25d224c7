// The device of a company's simulation: its memory is paged_executor's, its tokens are letters and now and
// then the end token, and it watches what it is asked to run.
#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/executor/executor.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/paged_executor.hpp"

namespace troupe::test {

// The letter after these tokens; 'a' to 'z' or end_token.
token_id letter_after(const std::vector<token_id>& tokens, const sampling_params& params);

// What the device saw. A fault stands here: an exception would only fail the step.
struct device_log {
  std::string fault;
  std::uint64_t steps = 0;
  std::uint64_t failed_steps = 0;
  std::uint64_t lacking_steps = 0;  // for want of memory
  std::uint64_t mixed_steps = 0;    // prompts and decodes in one
  std::uint64_t copied_blocks = 0;
  std::uint64_t partly_masked_steps = 0;  // with samples that are held to a grammar, and others
  std::uint64_t forced_tokens = 0;        // that came without a step of their own
  std::uint64_t verified_drafts = 0;      // tokens that were accepted or rejected by chance
  std::set<request_id> seen;
  std::set<request_id> failed;  // whose step threw
};

struct device_rules {
  kv_layout layout;
  std::int32_t max_rows = 0;
  std::int32_t max_sequences = 0;
  std::int32_t longest_chunk = 0;    // 0: no limit
  std::int32_t failing_percent = 0;  // of the steps
  std::int32_t lacking_percent = 0;  // likewise, for want of memory; of a model's those of several sequences
  bool is_draft_model = false;
  std::int32_t wrong_percent = 0;  // of a draft model's tokens
};

class letter_device final : public executor {
 public:
  letter_device(const device_rules& rules, std::uint64_t seed, std::shared_ptr<device_log> log);

  kv_layout layout() const override { return rules_.layout; }
  void forward(const device_batch& batch) override;
  void sample(const device_batch& batch, const step_masks* masks, step_result& result) override;
  std::string kernel_path() const override { return "letters"; }

 private:
  std::string fault_of(const device_batch& batch) const;
  void draft(const device_batch& batch, step_result& result);
  void verify(const device_batch& batch, step_result& result);
  void note(const device_batch& batch);
  void note(const step_masks& masks);
  bool fails(const device_batch& batch);
  void fail(const device_batch& batch);
  void run_out(const device_batch& batch);

  device_rules rules_;
  dice random_;
  std::shared_ptr<device_log> log_;
  paged_executor memory_;
  std::uint64_t last_step_ = 0;
};

}  // namespace troupe::test
