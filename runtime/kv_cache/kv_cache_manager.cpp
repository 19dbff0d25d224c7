#include "runtime/kv_cache/kv_cache_manager.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "runtime/prefetch.hpp"

namespace troupe {

kv_cache_manager::kv_cache_manager(const kv_cache_options& wanted)
    : block_size_(wanted.block_size),
      enable_prefix_caching_(wanted.enable_prefix_caching),
      pool_(wanted.num_blocks, memory_.lasting()) {}

cached_sequence* kv_cache_manager::find(request_id id) const {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : found->second;
}

cached_sequence* kv_cache_manager::find(request_id id, std::int32_t place) const {
  if (place < 0 || place >= all_sequences_.size()) return find(id);
  cached_sequence& who = all_sequences_[place];
  return who.in_use && who.id == id ? &who : find(id);
}

cached_sequence& kv_cache_manager::find_or_make(request_id id) {
  cached_sequence*& entry = sequences_[id];
  if (entry != nullptr) return *entry;
  const std::int32_t place = all_sequences_.take();
  entry = &all_sequences_[place];
  entry->clear(id);
  entry->place = place;
  entry->in_use = true;
  return *entry;
}

void kv_cache_manager::add_sequence(request_id id, std::span<const token_id> prompt,
                                    const prefix_scope& scope) {
  cached_sequence& who = find_or_make(id);
  if (!who.table.empty()) return;
  who.added = true;
  who.known = static_cast<std::int32_t>(prompt.size());
  who.chain.clear();
  who.tail.clear();
  if (!enable_prefix_caching_) return;
  who.chain.push_back(hasher_.root(scope));
  who.hash_prompt(prompt, hasher_, static_cast<std::size_t>(block_size_));
  prefetch_matches(who);
}

void kv_cache_manager::add_request(const engine_request& request) {
  if (request.sampling->prompt_logprobs) return;
  add_sequence(request.id, request.prompt, {.cache_salt = request.cache_salt, .adapter = {}, .extra = {}});
  if (request.fork_of) fork(*request.fork_of, request.id);
}

void kv_cache_manager::append_tokens(request_id id, std::span<const token_id> tokens) {
  append_to(find(id), tokens);
  publish_all();
}

void kv_cache_manager::append_tokens(std::span<const token_append> appends,
                                     std::span<const token_id> tokens) {
  for (std::size_t i = 0; i < appends.size(); ++i) {
    if (i + prefetch_distance < appends.size()) prefetch_sequence(appends[i + prefetch_distance].place);
    if (i + prefetch_distance / 2 < appends.size()) prefetch_tail(appends[i + prefetch_distance / 2].place);
    const auto count = static_cast<std::size_t>(appends[i].count);
    append_to(find(appends[i].id, appends[i].place), tokens.first(count));
    tokens = tokens.subspan(count);
  }
  publish_all();
}

void kv_cache_manager::append_to(cached_sequence* who, std::span<const token_id> tokens) {
  if (who == nullptr || !who->added) return;
  who->known += static_cast<std::int32_t>(tokens.size());
  who->note_stored(who->known - 1, committed_);  // all before the last
  if (!enable_prefix_caching_) return;
  who->tail.insert(who->tail.end(), tokens.begin(), tokens.end());
  if (num_publishable(*who) > who->published) to_publish_.push_back(who);
  const bool full = who->tail.size() >= static_cast<std::size_t>(block_size_);
  if (full && !std::exchange(who->queued, true)) to_index_.push_back(who);
}

void kv_cache_manager::index_blocks() {
  for (cached_sequence* who : to_index_) {
    who->queued = false;
    index(*who);
  }
  to_index_.clear();
  pool_.expect_as_many_takes();
}

void kv_cache_manager::index(cached_sequence& who) {
  who.hash_full_blocks(hasher_, static_cast<std::size_t>(block_size_));
  publish(who);
}

std::int32_t kv_cache_manager::num_publishable(const cached_sequence& who) const {
  if (who.outdated) return 0;
  return std::min({who.stored / block_size_, who.num_hashed(), static_cast<std::int32_t>(who.table.size())});
}

void kv_cache_manager::publish(cached_sequence& who) {
  for (const std::int32_t end = num_publishable(who); who.published < end; ++who.published) {
    const auto block = static_cast<std::size_t>(who.published);
    pool_.publish(who.table[block], who.chain[block + 1]);
  }
}

// Tables and hashes lie all over the memory, as do the places where the blocks are looked up.
void kv_cache_manager::publish_all() {
  const auto next = [](const cached_sequence& who) { return static_cast<std::size_t>(who.published); };
  for (const cached_sequence* who : to_publish_) {
    prefetch_line(who->table.begin() + next(*who));
    prefetch_line(&who->chain[next(*who) + 1]);
  }
  for (const cached_sequence* who : to_publish_)
    pool_.prefetch_publish(who->table[next(*who)], who->chain[next(*who) + 1]);
  for (const cached_sequence* who : to_publish_) pool_.prefetch_first(who->chain[next(*who) + 1]);
  for (cached_sequence* who : to_publish_) publish(*who);
  to_publish_.clear();
}

void kv_cache_manager::fork(request_id parent, request_id child) {
  if (parent != child) find_or_make(child).parent = parent;
}

void kv_cache_manager::commit_step(std::uint64_t step) {
  committed_ = std::max(committed_, step);
  std::erase_if(pending_, [this](pending_drop& given) {
    if (given.last_step > committed_) return false;
    take_apart(given.table);
    return true;
  });
  drop_blocks();
  check_when_idle();
}

void kv_cache_manager::trim(const block_trim& wanted) {
  cached_sequence* who = find(wanted.id, wanted.place);
  if (who == nullptr) return;
  while (static_cast<std::int32_t>(who->table.size()) > blocks_for(wanted.num_tokens))
    pool_.drop(who->table.pop_back());
}

void kv_cache_manager::release(request_id id, std::uint64_t last_step) {
  give_back(std::array{block_release{.id = id, .last_step = last_step}});
}

void kv_cache_manager::preempt(request_id id, std::uint64_t last_step) {
  give_back(std::array{block_release{.id = id, .last_step = last_step, .preempted = true}});
}

void kv_cache_manager::give_back(std::span<const block_release> releases) {
  for (const block_release& given : releases) prefetch_sequence(given.place);
  for (const block_release& given : releases) prefetch_table_end(given.place);
  for (const block_release& given : releases) {
    if (!given.preempted) {
      forget(given.id, given.last_step);
    } else if (cached_sequence* who = find(given.id, given.place)) {
      set_aside(*who, given.last_step);
    }
  }
  drop_blocks();
  check_when_idle();
}

void kv_cache_manager::forget(request_id id, std::uint64_t last_step) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;
  cached_sequence& who = *found->second;
  give_up_table(who, last_step);
  if (std::exchange(who.queued, false)) std::erase(to_index_, &who);
  who.in_use = false;
  all_sequences_.give_back(who.place);
  sequences_.erase(found);
}

void kv_cache_manager::set_aside(cached_sequence& who, std::uint64_t last_step) {
  give_up_table(who, last_step);
  who.preempted = true;
}

void kv_cache_manager::give_up_table(cached_sequence& who, std::uint64_t last_step) {
  index(who);
  if (who.copied_from && last_step < who.first_step) forget_copy(who);
  if (last_step <= committed_) {
    take_apart(who.table);
  } else {
    pending_.push_back({last_step, who.table});
  }
  who.forget_blocks();
}

// It was granted blocks, but the step was not sent off with it: nobody will make the copy.
void kv_cache_manager::forget_copy(const cached_sequence& who) {
  const auto held = std::find_if(pending_.begin(), pending_.end(), [&who](const pending_drop& given) {
    return given.last_step == who.first_step && given.table.size() == 1 && given.table[0] == *who.copied_from;
  });
  if (held == pending_.end()) return;
  take_apart(held->table);
  pending_.erase(held);
}

// The last block first, so that a prefix outlives what continued it.
void kv_cache_manager::take_apart(block_table& table) {
  dropped_.insert(dropped_.end(), std::make_reverse_iterator(table.end()),
                  std::make_reverse_iterator(table.begin()));
  tables_->give_back(table);
}

void kv_cache_manager::drop_blocks() {
  constexpr std::size_t distance = far_prefetch_distance;
  const std::size_t size = dropped_.size();
  for (std::size_t i = 0; i < std::min(size, distance); ++i) pool_.prefetch_block(dropped_[i]);
  for (std::size_t i = 0; i < size; ++i) {
    if (i + distance < size) pool_.prefetch_block(dropped_[i + distance]);
    pool_.drop(dropped_[i]);
  }
  dropped_.clear();
}

bool kv_cache_manager::reset_prefix_cache() {
  pool_.forget_contents();
  bool in_use = false;
  for (auto& [id, who] : sequences_) {
    who->outdated = !who->table.empty();
    in_use = in_use || who->outdated;
  }
  return !in_use;
}

void kv_cache_manager::lose_storage(std::uint64_t last_step) {
  lose_steps(last_step);
  pool_.forget_contents();
}

void kv_cache_manager::lose_steps(std::uint64_t last_step) {
  commit_step(last_step);
  for (auto& [id, who] : sequences_)
    if (!who->table.empty()) set_aside(*who, last_step);
  drop_blocks();
  check_when_idle();
}

double kv_cache_manager::usage() const {
  return 1.0 - static_cast<double>(free_blocks()) / static_cast<double>(num_blocks());
}

std::size_t kv_cache_manager::hash_bytes() const {
  std::size_t bytes = pool_.index_bytes();
  for (std::int32_t place = 0; place < all_sequences_.size(); ++place)
    bytes += all_sequences_[place].chain.capacity() * sizeof(block_hash) +
             all_sequences_[place].tail.capacity() * sizeof(token_id);
  return bytes;
}

}  // namespace troupe
