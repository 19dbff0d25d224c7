#include "runtime/drafting/draft_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/blocks_for.hpp"
#include "runtime/sampling/sampler.hpp"

namespace troupe {
namespace {

// Whoever gave a seed gets its tokens; without chance both ways are the same.
bool leaves_verification_open(const sampling_params& sampling) {
  return !sampling.is_seeded && !is_greedy(sampling);
}

bool is_by_chance(const draft_sequence& sequence) {
  return sequence.verification() == draft_verification::rejection;
}

}  // namespace

draft_model::draft_model(std::shared_ptr<executor> device, draft_model_options options, draft_tuning tuning)
    : device_(std::move(device)),
      options_(std::move(options)),
      choice_(options_.rejection),
      tuning_(std::move(tuning)) {
  free_blocks_.resize(static_cast<std::size_t>(device_->layout().num_blocks));
  std::iota(free_blocks_.rbegin(), free_blocks_.rend(), 0);
}

void draft_model::open(request_id id, std::span<const token_id> prompt, const sampling_params& sampling) {
  close(id);
  const draft_verification how = choose_verification(sampling);
  sequences_.emplace(id, draft_sequence(prompt, sampling, how, experience_of(sampling, how).hit_rate));
}

void draft_model::append(request_id id, std::span<const token_id> tokens, std::int32_t pending) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;
  draft_sequence& sequence = found->second;
  const draft_verification how = sequence.verification();
  const bool is_open = leaves_verification_open(sequence.sampling());
  sequence.append(tokens, experience_of(sequence.sampling(), how), [&](bool is_right) {
    if (is_open) choice_.observe(how, is_right);
  });
  sequence.set_pending(pending);
}

void draft_model::close(request_id id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;
  release(found->second);
  sequences_.erase(found);
}

void draft_model::close_all() {
  for (auto& [id, sequence] : sequences_) release(sequence);
  sequences_.clear();
}

void draft_model::forget_stored() {
  device_->synchronize();
  tuner_.reset();
  for (auto& [id, sequence] : sequences_) release(sequence);
}

std::vector<draft> draft_model::propose(std::span<const request_id> ids) {
  ++calls_;
  const auto requests = static_cast<std::int32_t>(ids.size());
  choose(ids);
  if (options_.adaptive) choose_worthy(requests);
  is_resting_ = options_.adaptive && drafting_.empty();
  begin_step();
  std::erase_if(drafting_, [this](const drafting& each) {
    const std::int32_t room = options_.max_rows - batch_.num_rows();
    const std::int32_t missing = each.sequence->num_missing();
    return !add_rows(*each.sequence, std::min(missing, room)) || missing > room;
  });
  const std::chrono::nanoseconds began = options_.now();
  run_step();
  if (batch_.num_rows() >= 2 * static_cast<std::int32_t>(batch_.sequences.size()))
    worth_.prompt_step(batch_.num_rows(), options_.now() - began);
  std::vector<drafting> all = drafting_;
  while (!drafting_.empty()) draft_further(requests);
  std::vector<draft> out;
  for (const drafting& each : all) out.push_back(each.sequence->take_draft(each.id));
  return out;
}

// What has been begun is drafted up to the first token that a step can verify, and on while the next one
// pays. A draft that is accepted or rejected by chance has its length from the beginning: it may come too
// late for its step, and is left out then, which must not depend on its tokens.
void draft_model::draft_further(std::int32_t requests) {
  std::int32_t drafted = 0;
  for (const drafting& each : drafting_) drafted += each.sequence->num_to_verify();
  const auto active = static_cast<std::int32_t>(drafting_.size());
  const std::optional<double> least =
      options_.adaptive ? worth_.least(requests, active, drafted) : std::optional<double>(0.0);
  begin_step();
  std::erase_if(drafting_, [&](const drafting& each) {
    const bool may_end = each.sequence->num_to_verify() > 0 && !is_by_chance(*each.sequence);
    return !wants_more(each) || !least || (may_end && each.sequence->next_worth() < *least) ||
           !add_rows(*each.sequence, 1);
  });
  const std::chrono::nanoseconds began = options_.now();
  run_step();
  if (!drafting_.empty()) worth_.draft_step(batch_.num_rows(), options_.now() - began);
}

// A prompt that is not computed yet costs time, too: more than an answer of a few tokens can win back, were
// all of its drafts right.
bool draft_model::pays_to_catch_up(const drafting& each, std::int32_t requests, double least) const {
  const draft_sequence& sequence = *each.sequence;
  const std::int32_t drafts = each.wanted - sequence.num_pending();
  const std::int32_t left = sequence.most_left(options_.max_model_len - sequence.num_known());
  const double right_drafts = static_cast<double>(left) * drafts / (drafts + 1);
  return worth_.prompt(sequence.num_missing() - 1, requests) <= right_drafts * (1.0 - least);
}

// What leads up to the first token is asked for its worth only where drafts are accepted or rejected by
// chance: only the draft behind steps without any has it. Who has rested is tried again with one token, if
// drafts were made before or once in a while: to compute what is missing is dear.
void draft_model::choose_worthy(std::int32_t requests) {
  constexpr std::uint64_t rarely = 512;
  const auto active = static_cast<std::int32_t>(drafting_.size());
  const auto least = worth_.least(requests, active, 0);
  if (!least) return drafting_.clear();
  std::erase_if(drafting_, [&](drafting& each) {
    draft_sequence& sequence = *each.sequence;
    if (!pays_to_catch_up(each, requests, *least)) return true;
    if (sequence.next_worth() * sequence.lead_worth() >= *least) {
      sequence.wake();
      return false;
    }
    const bool is_tried =
        sequence.has_rested() && (sequence.has_been_scored() || ++num_untried_ % rarely == 0);
    sequence.rest();
    each.wanted = sequence.num_pending() + 1;
    return !is_tried;
  });
  fix_lengths(requests);
}

// Of drafts that are accepted or rejected by chance, before a token of them is known. One at least: whether
// the first one pays has been asked before.
void draft_model::fix_lengths(std::int32_t requests) {
  const auto active = static_cast<std::int32_t>(drafting_.size());
  for (drafting& each : drafting_) {
    const draft_sequence& sequence = *each.sequence;
    if (!is_by_chance(sequence)) continue;
    const std::int32_t lead = sequence.num_pending();
    const std::int32_t best = worth_.best_length(
        requests, active, {sequence.hit_rate(), sequence.lead_worth(), lead, each.wanted - lead});
    each.wanted = lead + std::max(best, 1);
  }
}

// Whoever misses little first, so that no prompt keeps a running request from its draft.
void draft_model::choose(std::span<const request_id> ids) {
  drafting_.clear();
  for (const request_id id : ids) {
    const auto found = sequences_.find(id);
    if (found == sequences_.end() || found->second.last_use == calls_) continue;
    draft_sequence& sequence = found->second;
    if (options_.adaptive && sequence.is_resting()) continue;
    const std::int32_t wanted = sequence.most_drafts(options_.num_tokens);
    if (wanted == 0 || sequence.num_known() == 0 || sequence.num_known() > options_.max_model_len) continue;
    sequence.begin_draft(++num_drafts_);
    sequence.last_use = calls_;
    drafting_.push_back({id, &sequence, sequence.num_pending() + wanted});
  }
  std::ranges::stable_sort(drafting_, {}, [](const drafting& each) { return each.sequence->num_missing(); });
}

void draft_model::begin_step() {
  ++batch_.step;
  batch_.tokens.clear();
  batch_.positions.clear();
  batch_.slots.clear();
  batch_.sequences.clear();
  batch_.samples.clear();
  batch_.kept.clear();
  batch_.block_tables.clear();
}

bool draft_model::add_rows(draft_sequence& sequence, std::int32_t count) {
  const std::int32_t begin = sequence.num_stored();
  const bool fits = count > 0 &&
                    static_cast<std::int32_t>(batch_.sequences.size()) < options_.max_sequences &&
                    batch_.num_rows() + count <= options_.max_rows;
  if (!fits || !reserve(sequence, begin + count)) return false;
  const std::int32_t block_size = device_->layout().block_size;
  const auto index = static_cast<std::int32_t>(batch_.sequences.size());
  batch_.sequences.push_back({static_cast<request_id>(index), batch_.num_rows(), count,
                              static_cast<std::int32_t>(batch_.block_tables.size()),
                              static_cast<std::int32_t>(sequence.blocks.size())});
  batch_.block_tables.insert(batch_.block_tables.end(), sequence.blocks.begin(), sequence.blocks.end());
  for (std::int32_t position = begin; position < begin + count; ++position) {
    const std::int32_t block = sequence.blocks[static_cast<std::size_t>(position / block_size)];
    batch_.tokens.push_back(sequence.token(position));
    batch_.positions.push_back(position);
    batch_.slots.push_back(block * block_size + position % block_size);
  }
  sequence.stored(count);
  if (sequence.num_missing() > 0) return true;
  sample_row& sample = batch_.samples.emplace_back();
  sample.sequence = index;
  sample.row = batch_.num_rows() - 1;
  sequence.fill(sample);
  batch_.kept.push_back(sequence.next_kept());
  return true;
}

void draft_model::run_step() {
  if (batch_.tokens.empty()) return;
  device_->forward(batch_);
  if (batch_.samples.empty()) return device_->synchronize();  // how long it takes is measured
  device_->sample(batch_, nullptr, sampled_);
  for (std::size_t i = 0; i < drafting_.size(); ++i) {
    const sampled_token& sampled = sampled_.tokens[i];
    draft_sequence& sequence = *drafting_[i].sequence;
    if (sampled.token >= options_.vocab_size) drafting_[i].wanted = 0;
    if (drafting_[i].wanted == 0) continue;
    const float logprob = sampled.logprobs ? sampled.logprobs->logprob : 0.0F;
    sequence.push_draft(sampled.token, std::exp(logprob),
                        experience_of(sequence.sampling(), sequence.verification()).estimates);
  }
}

bool draft_model::wants_more(const drafting& each) const {
  const draft_sequence& sequence = *each.sequence;
  if (sequence.num_drafted() >= each.wanted || sequence.num_tokens() > options_.max_model_len) return false;
  const token_id last = sequence.token(sequence.num_tokens() - 1);
  return sequence.sampling().ignore_eos || is_by_chance(sequence) ||
         std::ranges::find(options_.end_tokens, last) == options_.end_tokens.end();
}

bool draft_model::reserve(draft_sequence& sequence, std::int32_t num_tokens) {
  const std::int32_t block_size = device_->layout().block_size;
  const auto needed = static_cast<std::size_t>(blocks_for(num_tokens, block_size));
  while (sequence.blocks.size() < needed) {
    if (free_blocks_.empty() && !take_back_blocks()) return false;
    sequence.blocks.push_back(free_blocks_.back());
    free_blocks_.pop_back();
  }
  return true;
}

// Of the one that has not been asked for for longest.
bool draft_model::take_back_blocks() {
  draft_sequence* oldest = nullptr;
  for (auto& [id, each] : sequences_) {
    if (each.blocks.empty() || each.last_use == calls_) continue;
    if (oldest == nullptr || each.last_use < oldest->last_use) oldest = &each;
  }
  if (oldest == nullptr) return false;
  release(*oldest);
  return true;
}

void draft_model::release(draft_sequence& sequence) {
  free_blocks_.insert(free_blocks_.end(), sequence.blocks.rbegin(), sequence.blocks.rend());
  sequence.blocks.clear();
  sequence.forget_stored();
}

void draft_model::begin_verification(const step_batch& batch, verified_drafts& out) {
  out.clear();
  for (const draft_samples& drafts : batch.drafts) {
    const sample_row& first = batch.samples[static_cast<std::size_t>(drafts.first)];
    const auto found = sequences_.find(batch.sequences[static_cast<std::size_t>(first.sequence)].id);
    if (found == sequences_.end()) continue;
    const auto kept = found->second.begin_verification(drafts.draft, first.position, drafts.count);
    if (!kept) continue;
    out.tokens.resize(batch.samples.size());
    out.of_samples.resize(batch.samples.size(), nullptr);
    for (std::int32_t i = 0; i < drafts.count; ++i) {
      const auto place = static_cast<std::size_t>(first.position - kept->after + i);
      if (kept->distributions[place].ids.empty()) break;
      const auto sample = static_cast<std::size_t>(drafts.first + i);
      out.tokens[sample] = {kept->tokens[place], kept->distributions[place].view()};
      out.of_samples[sample] = &out.tokens[sample];
    }
    out.keeps.push_back(kept);
  }
}

// A draft's distributions twice: a step may still read the last one's.
std::size_t draft_model::most_by_chance() const {
  const auto tokens = static_cast<std::size_t>(options_.num_tokens + options_.most_pending);
  const auto words = static_cast<std::size_t>(std::max(options_.vocab_size, 1));
  return options_.most_kept_bytes / (2 * tokens * words * (sizeof(token_id) + sizeof(float)));
}

// By what is open when the request begins, and for all of it: what is drafted has no part in it.
draft_verification draft_model::choose_verification(const sampling_params& sampling) {
  if (!leaves_verification_open(sampling)) return draft_verification::same_draw;
  const auto by_chance = std::ranges::count_if(sequences_, [](const auto& each) {
    return each.second.verification() == draft_verification::rejection;
  });
  const bool is_room = static_cast<std::size_t>(by_chance) < most_by_chance();
  return is_room ? choice_.next() : draft_verification::same_draw;
}

draft_experience& draft_model::experience_of(const sampling_params& sampling, draft_verification how) {
  return experiences_[is_greedy(sampling) ? 0 : how == draft_verification::same_draw ? 1 : 2];
}

}  // namespace troupe
