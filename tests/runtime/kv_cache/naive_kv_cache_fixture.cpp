#include "tests/runtime/kv_cache/naive_kv_cache_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

// SplitMix64's finalizer.
prefix_key extend(prefix_key prefix, token_id token) {
  std::uint64_t key = prefix * 31 + static_cast<std::uint64_t>(token) + 0x9E3779B97F4A7C15ULL;
  key = (key ^ (key >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  key = (key ^ (key >> 27U)) * 0x94D049BB133111EBULL;
  return key ^ (key >> 31U);
}

bool naive_kv_cache::findable(prefix_key content, bool held) const {
  return std::any_of(blocks_.begin(), blocks_.end(), [&](const block_state& each) {
    return each.content == content && (!held || each.holders > 0);
  });
}

std::int32_t naive_kv_cache::num_free() const {
  return static_cast<std::int32_t>(std::count_if(blocks_.begin(), blocks_.end(),
                                                 [](const block_state& each) { return each.holders == 0; }));
}

std::int32_t naive_kv_cache::num_cached() const {
  return static_cast<std::int32_t>(std::count_if(blocks_.begin(), blocks_.end(), [](const block_state& each) {
    return each.holders == 0 && each.content;
  }));
}

std::int32_t naive_kv_cache::found_by_content(const naive_sequence& who, std::int32_t limit) const {
  std::int32_t found = 0;
  while (found + block_size_ <= limit &&
         findable(who.prefixes[static_cast<std::size_t>(found + block_size_) - 1], false)) {
    found += block_size_;
  }
  return found;
}

std::int32_t naive_kv_cache::found_at_parent(const naive_sequence& who, std::int32_t limit) const {
  const auto parent = who.parent ? sequences.find(*who.parent) : sequences.end();
  if (parent == sequences.end() || parent->second.table.empty()) return 0;
  return std::min(parent->second.stored, limit);
}

std::int32_t naive_kv_cache::cached_tokens(request_id id) const {
  const naive_sequence& who = sequences.at(id);
  const auto limit = static_cast<std::int32_t>(who.prefixes.size()) - 1;
  return std::max(found_by_content(who, limit), found_at_parent(who, limit));
}

std::string naive_kv_cache::judge(const step_demand& demand, const step_reservation& answer) {
  if (answer.step != demand.step || answer.sequences.size() != demand.sequences.size()) return "another step";
  bool refused = false;
  for (std::size_t i = 0; i < demand.sequences.size(); ++i) {
    const std::string wrong = judge_grant(demand.sequences[i], answer, i, refused);
    if (!wrong.empty()) return fmt::format("request {}: {}", demand.sequences[i].id, wrong);
  }
  if (answer.free_blocks != num_free())
    return fmt::format("says {} free, not {}", answer.free_blocks, num_free());
  return {};
}

std::string naive_kv_cache::judge_grant(const sequence_demand& wanted, const step_reservation& answer,
                                        std::size_t i, bool& refused) {
  const sequence_grant& grant = answer.sequences[i];
  naive_sequence& who = sequences.at(wanted.id);
  const bool first = who.table.empty();
  const std::int32_t cached = first && !refused ? cached_tokens(wanted.id) : 0;
  const bool forked = cached > found_by_content(who, cached);
  const std::int32_t total = (wanted.num_tokens + block_size_ - 1) / block_size_;
  std::int32_t needed = std::max(total - static_cast<std::int32_t>(who.table.size()), 0);
  for (std::int32_t b = 0; b < cached / block_size_; ++b) {
    const prefix_key content = who.prefixes[static_cast<std::size_t>((b + 1) * block_size_) - 1];
    if (forked || findable(content, true)) --needed;
  }
  refused = refused || (needed > 0 && num_free() - needed < wanted.keep_free);
  if (grant.granted == refused)
    return fmt::format("granted {}, needs {} of {}", grant.granted, needed, num_free());
  if (refused)
    return grant.blocks_needed == needed ? "" : fmt::format("says {}, needs {}", grant.blocks_needed, needed);

  if (grant.table.size() != std::max(static_cast<std::size_t>(total), who.table.size()))
    return "another length";
  if (grant.num_cached != cached) return fmt::format("found {} tokens, not {}", grant.num_cached, cached);
  const std::vector<std::int32_t> table(grant.table.begin(), grant.table.end());
  if (!std::equal(who.table.begin(), who.table.end(), table.begin())) return "the table has changed";
  if (first) {
    if (std::string wrong = judge_shared(who, grant); !wrong.empty()) return wrong;
    for (std::int32_t b = 0; b < cached / block_size_; ++b) ++at(table[static_cast<std::size_t>(b)]).holders;
    who.table.assign(table.begin(), table.begin() + cached / block_size_);
    who.stored = cached / block_size_ * block_size_;
    who.first_step = answer.step;
    if (forked) who.outdated = sequences.at(*who.parent).outdated;
    who.parent.reset();
  } else if (who.first_step <= committed_) {
    who.stored = std::max(who.stored, wanted.num_stored);
  }
  publish(who);
  while (who.table.size() < table.size()) {
    const std::int32_t chosen = table[who.table.size()];
    if (std::string wrong = take(chosen); !wrong.empty()) return wrong;
    who.table.push_back(chosen);
  }
  if (first && cached % block_size_ != 0) {
    const auto to = table[static_cast<std::size_t>(cached / block_size_)];
    const auto copy = std::find_if(answer.copies.begin(), answer.copies.end(),
                                   [&](const block_copy& each) { return each.to == to; });
    if (copy == answer.copies.end()) return "no copy of the block that is half shared";
    ++at(copy->from).holders;
    pending_.push_back({answer.step, {copy->from}});
  }
  return {};
}

std::string naive_kv_cache::judge_shared(const naive_sequence& who, const sequence_grant& grant) const {
  for (std::int32_t b = 0; b < grant.num_cached / block_size_; ++b) {
    const std::int32_t block = grant.table[static_cast<std::size_t>(b)];
    const prefix_key content = who.prefixes[static_cast<std::size_t>((b + 1) * block_size_) - 1];
    const bool by_parent = who.parent && sequences.contains(*who.parent) &&
                           static_cast<std::size_t>(b) < sequences.at(*who.parent).table.size() &&
                           sequences.at(*who.parent).table[static_cast<std::size_t>(b)] == block;
    if (at(block).content != content && !by_parent)
      return fmt::format("block {} holds something else", block);
  }
  return {};
}

std::string naive_kv_cache::take(std::int32_t chosen) {
  if (at(chosen).holders > 0) return fmt::format("block {} is held and was given", chosen);
  if (at(chosen).content) {
    for (const block_state& each : blocks_) {
      if (each.holders > 0) continue;
      if (!each.content) return fmt::format("block {} was evicted while another was free", chosen);
      if (each.given_back < at(chosen).given_back)
        return fmt::format("block {} was not used least recently", chosen);
    }
  }
  at(chosen).content.reset();
  at(chosen).holders = 1;
  return {};
}

void naive_kv_cache::append(request_id id, prefix_key prefix) {
  naive_sequence& who = sequences.at(id);
  who.prefixes.push_back(prefix);
  if (who.table.empty() || who.first_step > committed_) return;
  who.stored = std::max(who.stored, static_cast<std::int32_t>(who.prefixes.size()) - 1);
  publish(who);
}

void naive_kv_cache::publish(naive_sequence& who) {
  if (who.outdated) return;
  for (std::int32_t b = 0; (b + 1) * block_size_ <= who.stored; ++b) {
    at(who.table[static_cast<std::size_t>(b)]).content =
        who.prefixes[static_cast<std::size_t>((b + 1) * block_size_) - 1];
  }
}

void naive_kv_cache::commit(std::uint64_t step) {
  committed_ = step;
  for (const auto& [last_step, table] : pending_) {
    if (last_step <= committed_) drop(table);
  }
  std::erase_if(pending_, [&](const auto& each) { return each.first <= committed_; });
}

void naive_kv_cache::give_up(request_id id, std::uint64_t last_step) {
  naive_sequence& who = sequences.at(id);
  if (last_step <= committed_) {
    drop(who.table);
  } else {
    pending_.emplace_back(last_step, who.table);
  }
  naive_sequence fresh;
  fresh.prefixes = who.prefixes;
  fresh.parent = who.table.empty() ? who.parent : std::nullopt;
  who = fresh;
}

void naive_kv_cache::drop(const std::vector<std::int32_t>& table) {
  for (auto each = table.rbegin(); each != table.rend(); ++each) {
    block_state& dropped = at(*each);
    if (--dropped.holders > 0) continue;
    dropped.given_back = ++clock_;
    if (!dropped.content) continue;
    if (findable(*dropped.content, true)) {
      dropped.content.reset();
      continue;
    }
    for (block_state& other : blocks_) {
      if (&other != &dropped && other.content == dropped.content) other.content.reset();
    }
  }
}

void naive_kv_cache::reset() {
  for (block_state& each : blocks_) each.content.reset();
  for (auto& [id, who] : sequences) who.outdated = !who.table.empty();
}

}  // namespace troupe
