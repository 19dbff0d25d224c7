#include "runtime/drafting/drafter.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

tenant_limits limits_of(const drafter_options& options) {
  return {options.config.suffix_decoding_max_tree_depth,
          static_cast<std::size_t>(options.config.suffix_decoding_max_cached_requests),
          options.max_tenant_bytes, options.hash_seed};
}

}  // namespace

drafter::drafter(const drafter_options& options) : options_(options), limits_(limits_of(options)) {}

acceptance_estimates& drafter::estimates_at(float temperature) {
  return estimates_[temperature <= 0.0F ? 0 : temperature <= 0.5F ? 1 : temperature <= 0.9F ? 2 : 3];
}

void drafter::open(request_id id, const std::string& tenant_key, std::span<const token_id> prompt,
                   float temperature) {
  close(id);
  tenant& owner = tenant_of(tenant_key);
  ++owner.num_open;
  owner.last_use = ++uses_;
  open_request request{drafted_request(options_.config, options_.hash_seed, prompt), &owner,
                       &estimates_at(temperature)};
  if (request.tokens.index(options_.work_tokens)) to_index_.push_back(id);
  request.last_use = ++uses_;
  recount(requests_.emplace(id, std::move(request)).first->second);
  make_room();
}

void drafter::append(request_id id, std::span<const token_id> tokens, std::int32_t pending) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  found->second.pending = pending;
  drafted_request& request = found->second.tokens;
  const bool waits = request.num_unindexed() > 0;
  request.append(tokens, *found->second.estimates);
  if (!waits && request.index(options_.work_tokens)) to_index_.push_back(id);
  found->second.has_run = true;
  found->second.last_use = ++uses_;
  recount(found->second);
  make_room();
}

void drafter::close(request_id id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  tenant& owner = *found->second.owner;
  const std::span<const token_id> output = found->second.tokens.output();
  if (options_.config.method == speculative_method::suffix) {
    const bool waits = owner.outputs.has_work();
    const std::size_t before = owner.outputs.bytes();
    owner.outputs.add({output.begin(), output.end()});
    recount(owner, before);
    if (!waits && owner.outputs.has_work()) to_take_in_.push_back(&owner);
  }
  remove(found);
  forget_tenants();
}

draft drafter::propose(request_id id) {
  draft out{id};
  const auto found = requests_.find(id);
  if (found == requests_.end()) return out;
  drafted_request& request = found->second.tokens;
  out.after = request.num_tokens();
  request.clear_proposals();
  if (request.num_unindexed() > 0) return out;
  if (prompt_lookup* lookup = request.lookup()) propose_lookup(*lookup, found->second);
  if (suffix_tree* tree = request.tree()) {
    propose_repeated(*tree, found->second);
    propose_answers(found->second.owner->outputs.tree(), found->second);
  }
  if (const proposal* best = request.best_proposal(found->second.pending)) {
    out.tokens = best->tokens;
    out.probabilities = best->probabilities;
    out.lead = found->second.pending;
  }
  recount(found->second);
  make_room();
  return out;
}

void drafter::propose_lookup(const prompt_lookup& lookup, open_request& request) {
  continuation_.clear();
  continuation_.match_length = lookup.match_length();
  const std::int32_t most = options_.config.num_speculative_tokens + request.pending;
  lookup.continue_match(static_cast<std::size_t>(most), continuation_.tokens);
  continuation_.probabilities.assign(continuation_.tokens.size(), 1.0F);
  continuation_.counts.assign(continuation_.tokens.size(), 1);
  request.tokens.propose(continuation_, draft_source::request, true, *request.estimates);
}

// The longest match says most about the place, one of half its length has seen more of them.
void drafter::propose_repeated(suffix_tree& tree, open_request& request) {
  const std::int32_t length = tree.repeated_length();
  if (length == 0) return;
  const suffix_tree::locus longest = tree.repeated(length);
  propose_from(tree, longest, draft_source::request, true, request);
  if (length < 2) return;
  const suffix_tree::locus shorter = tree.repeated(length / 2);
  if (tree.count_at(shorter) > tree.count_at(longest))
    propose_from(tree, shorter, draft_source::request, false, request);
}

void drafter::propose_answers(suffix_tree& tree, open_request& request) {
  const auto context = request.tokens.context(static_cast<std::size_t>(tree.max_depth()));
  const suffix_tree::locus longest = tree.longest_match(context);
  if (longest.match_length == 0) return;
  propose_from(tree, longest, draft_source::tenant, true, request);
  if (longest.match_length < 2) return;
  const auto shorter = tree.find(context.last(static_cast<std::size_t>(longest.match_length / 2)));
  if (shorter && tree.count_at(*shorter) > tree.count_at(longest))
    propose_from(tree, *shorter, draft_source::tenant, false, request);
}

void drafter::propose_from(suffix_tree& tree, const suffix_tree::locus& match, draft_source source,
                           bool is_longest_match, open_request& request) {
  const speculative_config& config = options_.config;
  const double most = std::min(static_cast<double>(config.num_speculative_tokens),
                               config.suffix_decoding_max_spec_factor * match.match_length + 1e-6);
  tree.continue_from(match, static_cast<std::size_t>(most) + static_cast<std::size_t>(request.pending),
                     static_cast<float>(config.suffix_decoding_min_token_prob), continuation_);
  request.tokens.propose(continuation_, source, is_longest_match, *request.estimates);
}

bool drafter::work() {
  while (!to_index_.empty()) {
    const request_id id = to_index_.front();
    to_index_.pop_front();
    const auto found = requests_.find(id);
    if (found == requests_.end() || found->second.tokens.num_unindexed() == 0) continue;
    if (found->second.tokens.index(options_.work_tokens)) to_index_.push_back(id);
    recount(found->second);
    make_room();
    return has_work();
  }
  if (!to_take_in_.empty()) {
    tenant* const owner = to_take_in_.front();
    to_take_in_.pop_front();
    const std::size_t before = owner->outputs.bytes();
    if (owner->outputs.work(options_.work_tokens)) to_take_in_.push_back(owner);
    recount(*owner, before);
    make_room();
  }
  return has_work();
}

drafter::tenant& drafter::tenant_of(const std::string& key) {
  std::unique_ptr<tenant>& place = tenants_[key];
  if (!place) {
    place = std::make_unique<tenant>(limits_);
    answer_bytes_ += place->outputs.bytes();
  }
  return *place;
}

}  // namespace troupe
