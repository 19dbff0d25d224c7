#include "tests/runtime/drafting/drafted_texts_fixture.hpp"

#include <utility>

#include "runtime/engine/dispatch_step.hpp"
#include "runtime/token_bits.hpp"

namespace troupe {
namespace {

constexpr std::int32_t block_size = 4;
constexpr std::int32_t side_by_side = 24;
const std::vector<token_id> prompt{3, 5};

kv_layout layout_of(std::int32_t num_blocks) {
  kv_layout out;
  out.block_size = block_size;
  out.num_blocks = num_blocks;
  return out;
}

scheduler_limits limits_of(const drafted_setting& setting) {
  scheduler_limits out;
  out.max_num_seqs = side_by_side;
  out.max_num_batched_tokens = 128;
  out.max_model_len = 64;
  out.block_size = block_size;
  out.num_blocks = setting.num_blocks;
  out.max_steps_in_flight = setting.steps_in_flight;
  out.adaptive_drafts = setting.adaptive;
  if (setting.end_token) out.end_tokens = {*setting.end_token};
  return out;
}

// Most tokens pay, though not each behind others.
std::chrono::nanoseconds cost_of(std::int32_t rows) {
  return std::chrono::nanoseconds(1'000'000 + 10'000 * rows);
}

}  // namespace

drafted_texts::drafted_texts(drafted_setting setting)
    : setting_(std::move(setting)),
      language_(1, setting_.vocab),
      device_(layout_of(setting_.num_blocks), language_),
      scheduler_(limits_of(setting_)),
      kv_cache_({.num_blocks = setting_.num_blocks, .block_size = block_size}) {
  for (std::int32_t rows = 1; rows <= 128; rows *= 2) scheduler_.measured_step({.rows = rows}, cost_of(rows));
  if (!setting_.has_draft_model) return;
  draft_model_options options;
  options.max_rows = 64;
  options.max_sequences = side_by_side;
  options.max_model_len = 64;
  options.vocab_size = setting_.vocab;
  options.adaptive = setting_.adaptive;
  if (setting_.end_token) options.end_tokens = {*setting_.end_token};
  options.num_tokens = setting_.num_draft_tokens;
  options.now = [this] { return time_ += std::chrono::microseconds(5); };
  options.rejection = setting_.method;
  drafts_ = std::make_unique<draft_model>(
      std::make_shared<toy_device>(layout_of(200), toy_language(setting_.draft_language, setting_.vocab)),
      options);
  for (std::int32_t rows = 1; rows <= 128; rows *= 2) drafts_->target_step(rows, cost_of(rows));
}

std::vector<std::vector<token_id>> drafted_texts::draw(std::uint64_t first, std::size_t count) {
  std::vector<std::vector<token_id>> texts(count);
  texts_ = &texts;
  for (std::size_t next = 0; next < count || scheduler_.counts().running + scheduler_.counts().waiting > 0;) {
    const scheduler_counts now = scheduler_.counts();
    for (std::int32_t open = now.running + now.waiting; next < count && open < side_by_side; ++open, ++next)
      submit(next, first + next);
    while (dispatch()) {
    }
    propose_late_ones();
    run_oldest();
    commit();
  }
  if (setting_.end_token)
    for (std::vector<token_id>& text : texts)
      text.resize(static_cast<std::size_t>(setting_.length), *setting_.end_token);
  return texts;
}

void drafted_texts::submit(request_id id, std::uint64_t seed) {
  auto sampling = std::make_shared<sampling_params>(setting_.sampling);
  sampling->max_tokens = setting_.length;
  sampling->ignore_eos = !setting_.end_token;
  sampling->seed = seed;
  sampling->is_seeded = setting_.is_seeded;
  engine_request request;
  request.id = id;
  request.prompt = prompt;
  request.sampling = sampling;
  if (!scheduler_.submit(request)) return;
  kv_cache_.add_sequence(id, prompt, {});
  if (drafts_) drafts_->open(id, prompt, *sampling);
}

bool drafted_texts::dispatch() {
  step_batch_ptr batch = dispatch_step(scheduler_, kv_cache_, reservation_,
                                       [this](const auto& releases) { give_back(releases); });
  if (!batch) return false;
  dispatched_.push_back(std::move(batch));
  return true;
}

// As model_runner does it.
void drafted_texts::run_oldest() {
  const step_batch& batch = *dispatched_.front();
  device_batch& rows = feed_.resolve(batch);
  const bool forgets = setting_.forget_every > 0 && ++steps_ % setting_.forget_every == 0;
  if (drafts_ && !forgets) {
    drafts_->begin_verification(batch, verified_);
    rows.verified = verified_.of_samples;
  }
  device_.forward(rows);
  const step_masks masks = masks_of(rows);
  device_.sample(rows, setting_.has_grammar ? &masks : nullptr, result_);
  feed_.remember(result_);
}

step_masks drafted_texts::masks_of(const device_batch& batch) const {
  step_masks out;
  out.num_words = static_cast<std::size_t>(setting_.vocab + 31) / 32;
  for (const sample_row& sample : batch.samples) {
    const auto [before, last] = device_.before(batch, sample);
    const auto allowed = language_.allowed_after(before, last);
    out.words.insert(out.words.end(), allowed.begin(), allowed.end());
    out.is_masked.push_back(1);
  }
  return out;
}

void drafted_texts::commit() {
  const std::uint64_t step = dispatched_.front()->step;
  scheduler_.commit(result_, output_);
  dispatched_.pop_front();
  kv_cache_.commit_step(step);
  kv_cache_.append_tokens(output_.appends, output_.appended);
  for (const block_trim& given : output_.trims) kv_cache_.trim(given);
  give_back(output_.releases);
  std::vector<request_id> asked;
  for (const token_event& event : output_.events) {
    std::vector<token_id>& text = (*texts_)[event.id];
    text.insert(text.end(), event.tokens.begin(), event.tokens.end());
    if (!drafts_) continue;
    drafts_->append(event.id, std::vector<token_id>(event.tokens.begin(), event.tokens.end()),
                    scheduler_.pending_tokens(event.id));
    if (event.end)
      drafts_->close(event.id);
    else
      asked.push_back(event.id);
  }
  if (drafts_ && scheduler_.wants_drafts()) ask_for_drafts(asked);
}

// Each takes as long as it has tokens, as if it were asked for alone.
void drafted_texts::ask_for_drafts(const std::vector<request_id>& ids) {
  for (draft& guess : drafts_->propose(ids)) {
    const bool is_late = std::ssize(guess.tokens) > setting_.late_beyond;
    if (setting_.has_grammar) cut_for_grammar(guess);
    if (is_late)
      late_.push_back(std::move(guess));
    else
      scheduler_.propose(std::move(guess));
  }
}

void drafted_texts::propose_late_ones() {
  num_late_ += late_.size();
  for (draft& guess : late_) scheduler_.propose(std::move(guess));
  late_.clear();
}

// As structured_output does it, which knows a request's grammar and not what its draft was drawn from.
void drafted_texts::cut_for_grammar(draft& guess) {
  std::vector<token_id> tokens = prompt;
  tokens.insert(tokens.end(), (*texts_)[guess.id].begin(), (*texts_)[guess.id].end());
  const std::size_t drawn = guess.tokens.size();
  std::size_t possible = 0;
  for (; possible < drawn; ++possible) {
    const auto allowed = language_.allowed_after(tokens[tokens.size() - 2], tokens.back());
    if (!has_token(allowed, guess.tokens[possible])) break;
    tokens.push_back(guess.tokens[possible]);
  }
  guess.cut_for_grammar(possible);
  num_cut_ += drawn - guess.tokens.size();
}

void drafted_texts::give_back(const std::vector<block_release>& releases) {
  for (const block_release& given : releases) {
    if (given.preempted)
      kv_cache_.preempt(given.id, given.last_step);
    else
      kv_cache_.release(given.id, given.last_step);
  }
}

std::vector<double> drafted_texts::enumerate() {
  std::vector<double> out;
  std::vector<token_id> tokens = prompt;
  enumerate_from(tokens, 1.0, out);
  return out;
}

bool drafted_texts::has_ended(const std::vector<token_id>& tokens) const {
  return tokens.size() > prompt.size() && tokens.back() == setting_.end_token;
}

void drafted_texts::enumerate_from(std::vector<token_id>& tokens, double probability,
                                   std::vector<double>& out) {
  const std::size_t generated = tokens.size() - prompt.size();
  if (generated == static_cast<std::size_t>(setting_.length)) {
    out.push_back(probability);
    return;
  }
  const token_id before = tokens[tokens.size() - 2];
  sample_row row;
  row.position = static_cast<std::int32_t>(tokens.size());
  row.num_generated = static_cast<std::int32_t>(generated);
  row.prompt_length = static_cast<std::int32_t>(prompt.size());
  row.sampling = std::make_shared<const sampling_params>(setting_.sampling);
  row.history = tokens;
  const auto mask =
      setting_.has_grammar ? language_.allowed_after(before, tokens.back()) : std::vector<std::uint32_t>();
  kept_distribution next;
  next.assign(compute_distribution(language_.logits_after(before, tokens.back()), row, {}, scratch_, mask));
  double total = 0.0;
  for (const float weight : next.weights) total += static_cast<double>(weight);
  std::size_t at = 0;
  for (token_id token = 0; token < setting_.vocab; ++token) {
    const bool has = at < next.ids.size() && next.ids[at] == token;
    double share = has ? static_cast<double>(next.weights[at++]) / total : 0.0;
    if (has_ended(tokens)) share = token == setting_.end_token ? 1.0 : 0.0;
    tokens.push_back(token);
    enumerate_from(tokens, probability * share, out);
    tokens.pop_back();
  }
}

}  // namespace troupe
