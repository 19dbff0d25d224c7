#include "tests/actors/letter_device_fixture.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "runtime/sampling/philox.hpp"
#include "tests/actors/company_fixture.hpp"

namespace troupe::test {
namespace {

constexpr std::int32_t letters = 26;
constexpr std::int32_t outcomes = 4 * (letters + 1);

// Three of four tokens follow the last one in the alphabet, so that texts repeat themselves; one in 108 ends
// the generation.
token_id to_letter(token_id drawn, token_id last) {
  if (drawn > letters) return last >= 'a' && last < 'z' ? last + 1 : 'a';
  return drawn == letters ? end_token : 'a' + drawn;
}

// The batch as the scheduler made it, but for the tokens that the runner has filled in.
step_batch as_planned(const device_batch& batch) {
  step_batch planned;
  planned.step = batch.step;
  planned.tokens = batch.tokens;
  planned.positions = batch.positions;
  planned.slots = batch.slots;
  planned.sequences = batch.sequences;
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) planned.tables.push_back(batch.table(i).data());
  planned.samples = batch.samples;
  planned.drafts = batch.drafts;
  return planned;
}

// Steps of the warm-up have no number.
bool is_scratch(const device_batch& batch) { return batch.step == 0; }

}  // namespace

token_id letter_after(const std::vector<token_id>& tokens, const sampling_params& params) {
  return to_letter(expect_row(tokens, params, outcomes).token, tokens.back());
}

letter_device::letter_device(const device_rules& rules, std::uint64_t seed, std::shared_ptr<device_log> log)
    : rules_(rules), random_(seed), log_(std::move(log)), memory_(rules.layout, outcomes) {}

void letter_device::forward(const device_batch& batch) {
  if (is_scratch(batch)) return;
  if (log_->fault.empty()) log_->fault = fault_of(batch);
  last_step_ = batch.step;
  note(batch);
  if (fails(batch)) fail(batch);
  run_out(batch);
  memory_.forward(batch);
}

void letter_device::sample(const device_batch& batch, const step_masks* masks, step_result& result) {
  if (is_scratch(batch)) {
    result.tokens.assign(batch.samples.size(), {});
    return;
  }
  memory_.sample(batch, nullptr, result);
  for (std::size_t i = 0; i < result.tokens.size(); ++i)
    result.tokens[i].token =
        to_letter(result.tokens[i].token, batch.tokens[static_cast<std::size_t>(batch.samples[i].row)]);
  for (std::size_t i = 0; masks != nullptr && i < result.tokens.size(); ++i)
    result.tokens[i].token = next_allowed(masks->mask_of(i), result.tokens[i].token);
  if (masks != nullptr) note(*masks);
  if (rules_.is_draft_model) draft(batch, result);
  if (!batch.verified.empty()) verify(batch, result);
  if (fails(batch)) fail(batch);
  run_out(batch);
}

// Drawn from the right letter and a wrong one.
void letter_device::draft(const device_batch& batch, step_result& result) {
  for (std::size_t i = 0; i < result.tokens.size(); ++i) {
    token_id& token = result.tokens[i].token;
    const std::pair both = std::minmax({token, static_cast<token_id>('a' + random_.pick(0, letters - 1))});
    if (random_.chance(rules_.wrong_percent)) token = both.first == token ? both.second : both.first;
    if (batch.kept.empty() || batch.kept[i] == nullptr) continue;
    kept_distribution& kept = *batch.kept[i];
    kept.ids = {both.first};
    if (both.second != both.first) kept.ids.push_back(both.second);
    kept.weights.assign(kept.ids.size(), 0.5F);
  }
}

// The target has no choice: whatever a draft was drawn from, its own letter comes.
void letter_device::verify(const device_batch& batch, step_result& result) {
  for (std::size_t i = 0; i < result.tokens.size(); ++i) {
    const drafted_token* const drafted = batch.verified[i];
    if (drafted == nullptr) continue;
    ++log_->verified_drafts;
    const auto row = static_cast<std::size_t>(batch.samples[i].row);
    const bool has_row = row + 1 < batch.tokens.size() && batch.tokens[row + 1] == drafted->token;
    const auto& ids = drafted->distribution.ids;
    if (!has_row) log_->fault = "another draft is verified than its row has";
    if (std::ranges::find(ids, drafted->token) == ids.end())
      log_->fault = "a draft is verified that was drawn from something else";
    const std::array target{result.tokens[i].token};
    const std::array weight{1.0F};
    const std::uint64_t drawn = random_.number();
    result.tokens[i].token = verify_draft({target, weight}, *drafted, uniform(drawn, 0), uniform(drawn, 1));
  }
}

std::string letter_device::fault_of(const device_batch& batch) const {
  if (batch.step <= last_step_) return "a step came twice, or out of order";
  std::vector<std::int32_t> drafts(batch.sequences.size(), 0);
  for (const draft_samples& each : batch.drafts)
    drafts[static_cast<std::size_t>(batch.samples[static_cast<std::size_t>(each.first)].sequence)] =
        each.count;
  for (std::size_t i = 0; i < batch.sequences.size(); ++i)
    if (rules_.longest_chunk > 0 && batch.sequences[i].num_rows - drafts[i] > rules_.longest_chunk)
      return "a chunk is longer than allowed";
  return batch_fault(as_planned(batch), rules_.layout.block_size, rules_.layout.num_blocks, rules_.max_rows,
                     rules_.max_sequences);
}

void letter_device::note(const device_batch& batch) {
  ++log_->steps;
  log_->copied_blocks += batch.copies.size();
  const auto is_decode = [](const sequence_rows& rows) { return rows.num_rows == 1; };
  const bool decodes = std::any_of(batch.sequences.begin(), batch.sequences.end(), is_decode);
  const bool prompts = !std::all_of(batch.sequences.begin(), batch.sequences.end(), is_decode);
  if (decodes && prompts) ++log_->mixed_steps;
  for (const sequence_rows& rows : batch.sequences) log_->seen.insert(rows.id);
}

void letter_device::note(const step_masks& masks) {
  const auto is_masked = [](std::uint8_t each) { return each != 0; };
  if (!std::ranges::all_of(masks.is_masked, is_masked) && std::ranges::any_of(masks.is_masked, is_masked))
    ++log_->partly_masked_steps;
  for (const forced_tokens& run : masks.forced) log_->forced_tokens += run.tokens.size();
}

// Chance never makes it look as if a request were to blame.
bool letter_device::fails(const device_batch& batch) {
  const bool looks_guilty = batch.sequences.size() == 1 && log_->failed.contains(batch.sequences[0].id);
  return !looks_guilty && random_.chance(rules_.failing_percent);
}

void letter_device::fail(const device_batch& batch) {
  ++log_->failed_steps;
  memory_.scribble(batch);
  for (const sequence_rows& rows : batch.sequences) log_->failed.insert(rows.id);
  throw std::runtime_error("the device failed");
}

// A smaller step of the model is always possible, so that no request is to blame; none is for a draft
// model's.
void letter_device::run_out(const device_batch& batch) {
  if (batch.sequences.size() < 2 && !rules_.is_draft_model) return;
  if (!random_.chance(rules_.lacking_percent)) return;
  ++log_->lacking_steps;
  memory_.scribble(batch);
  throw out_of_device_memory("the device lacks memory");
}

}  // namespace troupe::test
