#include <algorithm>
#include <utility>

#include "runtime/kv_cache/kv_cache_manager.hpp"
#include "runtime/prefetch.hpp"

namespace troupe {

step_reservation kv_cache_manager::reserve_step(const step_demand& demand) {
  step_reservation reservation;
  reserve_step(demand, reservation);
  return reservation;
}

void kv_cache_manager::reserve_step(const step_demand& demand, step_reservation& out) {
  out.step = demand.step;
  out.sequences.clear();
  if (out.tables != tables_) out.tables = tables_;
  out.copies.clear();
  out.cached_lengths.clear();
  give_back(demand.releases);
  bool refused = false;
  for (std::size_t i = 0; i < demand.sequences.size(); ++i) {
    if (i + prefetch_distance < demand.sequences.size())
      prefetch_sequence(demand.sequences[i + prefetch_distance].place);
    if (i + prefetch_distance / 2 < demand.sequences.size())
      prefetch_table_end(demand.sequences[i + prefetch_distance / 2].place);
    decide(demand.sequences[i], refused, out);
    refused = !out.sequences.back().granted;
  }
  if (!refused) make_room_for_drafts(demand, out);
  for (const request_id id : demand.prefix_queries) {
    const cached_sequence* who = find(id);
    out.cached_lengths.push_back(who == nullptr ? 0 : match_prefix(*who, who->known, shared_).num_tokens);
  }
  out.free_blocks = free_blocks();
}

void kv_cache_manager::prefetch_sequence(std::int32_t place) const {
  if (place >= 0 && place < all_sequences_.size()) prefetch_lines(&all_sequences_[place], 2);
}

void kv_cache_manager::prefetch_table_end(std::int32_t place) const {
  if (place >= 0 && place < all_sequences_.size()) prefetch_line(all_sequences_[place].table.end());
}

void kv_cache_manager::prefetch_tail(std::int32_t place) const {
  if (place < 0 || place >= all_sequences_.size()) return;
  const std::pmr::vector<token_id>& tail = all_sequences_[place].tail;
  prefetch_line(tail.data() + tail.size());
}

void kv_cache_manager::decide(const sequence_demand& wanted, bool refused, step_reservation& out) {
  sequence_grant& grant = out.sequences.emplace_back();
  grant.id = wanted.id;
  cached_sequence* who = find(wanted.id, wanted.place);
  const bool first = who == nullptr || who->table.empty();
  const std::int32_t total = blocks_for(wanted.num_tokens);
  std::int32_t needed = std::max(total - (first ? 0 : static_cast<std::int32_t>(who->table.size())), 0);
  prefix_match match;
  if (first && who != nullptr && !refused) {
    match = match_prefix(*who, wanted.num_tokens, shared_);
    // What nobody holds at the moment has to be taken out of the free blocks like a new one.
    needed -= static_cast<std::int32_t>(std::count_if(
        shared_.begin(), shared_.end(), [this](std::int32_t block) { return pool_.references(block) > 0; }));
  }
  if (refused || (needed > 0 && pool_.available() - needed < wanted.keep_free)) {
    grant.blocks_needed = needed;
    return;
  }
  if (who == nullptr) who = &find_or_make(wanted.id);
  if (first) {
    begin_table(*who, match, total, out.step);
  } else {
    who->note_stored(wanted.num_stored, committed_);
    publish(*who);
    extend_table(*who, total, out.step);
  }
  write_grant(*who, grant, out);
}

void kv_cache_manager::make_room_for_drafts(const step_demand& demand, step_reservation& out) {
  for (std::size_t i = 0; i < demand.sequences.size(); ++i) {
    const sequence_demand& wanted = demand.sequences[i];
    if (wanted.num_drafts == 0) continue;
    cached_sequence& who = *find(wanted.id, out.sequences[i].place);
    const auto held = static_cast<std::int32_t>(who.table.size());
    const std::int32_t total = blocks_for(wanted.num_tokens + wanted.num_drafts);
    extend_table(who, std::min(total, held + pool_.available()), out.step);
    out.sequences[i].table = who.table.blocks();
  }
}

void kv_cache_manager::begin_table(cached_sequence& who, const prefix_match& match, std::int32_t num_blocks,
                                   std::uint64_t step) {
  who.table = tables_->take(std::max(static_cast<std::size_t>(num_blocks), shared_.size()));
  if (match.num_tokens > 0) {
    for (const std::int32_t block : shared_) {
      pool_.share(block);
      who.table.push_back(block);
    }
  }
  extend_table(who, num_blocks, step);
  who.first_step = step;
  who.num_cached = match.num_tokens;
  who.stored = match.num_tokens / block_size_ * block_size_;
  who.outdated = match.outdated;
  who.parent.reset();
  if (match.copied_from) {
    // Held until the copy is made: its sequence may end before.
    who.copied_from = match.copied_from;
    pool_.share(*match.copied_from);
    pending_.push_back({step, tables_->take(1)});
    pending_.back().table.push_back(*match.copied_from);
  }
  publish(who);
  count_first_grant(who, match);
}

void kv_cache_manager::extend_table(cached_sequence& who, std::int32_t num_blocks, std::uint64_t step) {
  while (static_cast<std::int32_t>(who.table.size()) < num_blocks) {
    if (who.table.full()) make_table_larger(who, static_cast<std::size_t>(num_blocks), step);
    who.table.push_back(pool_.take());
  }
}

// Steps in flight still read the smaller one: its room comes back after them. Its blocks have moved on.
void kv_cache_manager::make_table_larger(cached_sequence& who, std::size_t num_blocks, std::uint64_t step) {
  block_table larger = tables_->take(std::max(num_blocks, 2 * who.table.size()));
  for (const std::int32_t block : who.table) larger.push_back(block);
  who.table.clear();
  pending_.push_back({step, who.table});
  who.table = larger;
}

void kv_cache_manager::count_first_grant(const cached_sequence& who, const prefix_match& match) {
  if (who.preempted) return;
  counts_.cached_prompt_tokens += static_cast<std::uint64_t>(match.num_tokens);
  if (who.chain.empty()) return;
  counts_.queries += static_cast<std::uint64_t>(who.known);
  counts_.hits += static_cast<std::uint64_t>(match.num_found);
}

void kv_cache_manager::write_grant(const cached_sequence& who, sequence_grant& grant,
                                   step_reservation& out) const {
  grant.granted = true;
  grant.place = who.place;
  grant.table = who.table.blocks();
  if (who.first_step != out.step) return;
  grant.num_cached = who.num_cached;
  if (!who.copied_from) return;
  out.copies.push_back({*who.copied_from, who.table[static_cast<std::size_t>(who.num_cached / block_size_)]});
}

std::int32_t kv_cache_manager::cached_tokens(request_id id) const {
  const cached_sequence* who = find(id);
  if (who == nullptr) return 0;
  std::vector<std::int32_t> shared;
  return match_prefix(*who, who->known, shared).num_tokens;
}

// Where there is a place for it, the next step grants a request its first blocks.
void kv_cache_manager::prefetch_matches(const cached_sequence& who) const {
  constexpr std::size_t most = 256;  // more than that would drive out what the running ones need
  const auto known = std::span(who.chain).subspan(1);
  const auto names = known.first(std::min(known.size(), most));
  for (const block_hash& name : names) pool_.prefetch_bucket(name);
  for (const block_hash& name : names) pool_.prefetch_first(name);
}

// The last token is always computed: its logits are wanted.
kv_cache_manager::prefix_match kv_cache_manager::match_prefix(const cached_sequence& who,
                                                              std::int32_t num_tokens,
                                                              std::vector<std::int32_t>& shared) const {
  shared.clear();
  const std::int32_t limit = (who.added ? std::min(who.known, num_tokens) : num_tokens) - 1;
  const std::int32_t most = std::min(who.num_hashed(), limit / block_size_);
  constexpr std::int32_t ahead = prefetch_distance;
  const auto name = [&who](std::int32_t i) -> const block_hash& {
    return who.chain[static_cast<std::size_t>(i) + 1];
  };
  for (std::int32_t i = -ahead; i < most; ++i) {
    if (i + ahead < most) pool_.prefetch_bucket(name(i + ahead));
    if (i + ahead / 2 >= 0 && i + ahead / 2 < most) pool_.prefetch_first(name(i + ahead / 2));
    if (i < 0) continue;
    const auto block = pool_.find(name(i));
    if (!block) break;
    shared.push_back(*block);
  }
  const std::int32_t found = static_cast<std::int32_t>(shared.size()) * block_size_;
  const prefix_match cached{found, found};
  const cached_sequence* parent = who.parent ? find(*who.parent) : nullptr;
  if (parent == nullptr || parent->table.empty()) return cached;
  const std::int32_t common = std::min(parent->stored, limit);
  if (common <= cached.num_tokens) return cached;

  prefix_match forked{common, found, {}, parent->outdated};
  const auto full = static_cast<std::size_t>(common / block_size_);
  shared.assign(parent->table.begin(), parent->table.begin() + static_cast<std::ptrdiff_t>(full));
  if (common % block_size_ != 0) forked.copied_from = parent->table[full];
  return forked;
}

}  // namespace troupe
