// The hash chain (block_hash.hpp, block_pool.hpp) against the radix tree of SGLang (one node
// per run of blocks that no prompt divides, the least recently used leaf evicted first). Both at 16 tokens a
// block, over the same prompts. Figures: docs/engine.md.
#include <benchmark/benchmark.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "runtime/kv_cache/block_hash.hpp"
#include "runtime/kv_cache/block_pool.hpp"

namespace troupe {
namespace {

constexpr std::size_t block_size = 16;
using tokens = std::vector<token_id>;

tokens draw(std::mt19937_64& random, std::size_t count) {
  tokens ids(count);
  for (token_id& id : ids) id = static_cast<token_id>(random() % 49152);
  return ids;
}

tokens join(tokens left, const tokens& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// 64 conversations of 8 turns, 320 tokens more each turn, turn by turn.
std::vector<tokens> multi_turn() {
  std::mt19937_64 random(1);
  std::vector<tokens> history(64);
  std::vector<tokens> prompts;
  for (int turn = 0; turn < 8; ++turn) {
    for (tokens& each : history) {
      each = join(std::move(each), draw(random, 320));
      prompts.push_back(each);
    }
  }
  return prompts;
}

// 512 questions of 128 tokens behind one of 4 system prompts of 2,048.
std::vector<tokens> shared_system_prompt() {
  std::mt19937_64 random(2);
  std::vector<tokens> systems;
  for (int i = 0; i < 4; ++i) systems.push_back(draw(random, 2048));
  std::vector<tokens> prompts;
  for (int i = 0; i < 512; ++i) prompts.push_back(join(systems[random() % 4], draw(random, 128)));
  return prompts;
}

std::size_t num_blocks(std::span<const tokens> prompts) {
  std::size_t blocks = 0;
  for (const tokens& each : prompts) blocks += each.size() / block_size;
  return blocks;
}

class hash_chain {
 public:
  explicit hash_chain(std::int32_t size) : pool_(size) {}

  // Done when a request arrives, while the device is busy.
  const std::vector<block_hash>& hash(const tokens& prompt) {
    chain_.assign(1, root_);
    for (std::size_t i = 0; i + block_size <= prompt.size(); i += block_size)
      chain_.push_back(hasher_.next(chain_.back(), std::span(prompt).subspan(i, block_size)));
    return chain_;
  }
  std::size_t find(const std::vector<block_hash>& chain) {
    held_.clear();
    for (std::size_t i = 1; i < chain.size(); ++i) {
      const auto block = pool_.find(chain[i]);
      if (!block) break;
      held_.push_back(*block);
    }
    return held_.size();
  }
  // Finds, holds, computes the rest, gives all back.
  void run(const std::vector<block_hash>& chain) {
    find(chain);
    for (const std::int32_t block : held_) pool_.share(block);
    while (held_.size() + 1 < chain.size()) {
      held_.push_back(pool_.take());
      pool_.publish(held_.back(), chain[held_.size()]);
    }
    for (std::size_t i = held_.size(); i > 0; --i) pool_.drop(held_[i - 1]);
  }

 private:
  block_pool pool_;
  block_hasher hasher_;
  block_hash root_ = hasher_.root({});
  std::vector<block_hash> chain_;
  std::vector<std::int32_t> held_;
};

class radix_tree {
 public:
  explicit radix_tree(std::int32_t size) {
    for (std::int32_t i = size; i > 0; --i) free_.push_back(i - 1);
  }

  // Blocks found; splits the node in which the match ends.
  std::size_t find(const tokens& prompt) {
    path_.clear();
    std::size_t matched = 0;
    node* here = &root_;
    while (matched + block_size <= prompt.size()) {
      const auto child = here->children.find(page_key(prompt.data() + matched));
      if (child == here->children.end()) break;
      node* next = child->second.get();
      const std::size_t common = common_tokens(*next, prompt, matched);
      if (common == 0) break;
      if (common < next->key.size()) next = split(next, common);
      touch(next);
      path_.push_back(next);
      matched += common;
      here = next;
    }
    return matched / block_size;
  }
  // As hash_chain::run: what it holds cannot be evicted meanwhile.
  void run(const tokens& prompt) {
    const std::size_t found = find(prompt) * block_size;
    const std::size_t whole = prompt.size() / block_size * block_size;
    for (node* each : path_) hold(each);
    if (found < whole) {
      auto leaf = std::make_unique<node>();
      leaf->key.assign(prompt.begin() + static_cast<std::ptrdiff_t>(found),
                       prompt.begin() + static_cast<std::ptrdiff_t>(whole));
      for (std::size_t i = found; i < whole; i += block_size) leaf->blocks.push_back(take());
      node* parent = path_.empty() ? &root_ : path_.back();
      leaf->parent = parent;
      leaves_.erase({parent->used, parent});
      node* added = leaf.get();
      added->page = page_key(added->key.data());
      parent->children[added->page] = std::move(leaf);
      touch(added);
    }
    for (node* each : path_) release(each);
  }

 private:
  struct node {
    tokens key = {};
    std::vector<std::int32_t> blocks = {};
    boost::unordered_flat_map<std::uint64_t, std::unique_ptr<node>> children = {};  // by their first block
    node* parent = nullptr;
    std::uint64_t page = 0;  // its key there
    std::uint64_t used = 0;
    std::int32_t holders = 0;
  };

  // Not cryptographic: the tokens themselves are compared behind it.
  static std::uint64_t page_key(const token_id* page) {
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < block_size; ++i)
      key = (key ^ static_cast<std::uint64_t>(page[i])) * 0x9E3779B97F4A7C15ULL;
    return key;
  }
  static std::size_t common_tokens(const node& edge, const tokens& prompt, std::size_t begin) {
    std::size_t common = 0;
    while (common < edge.key.size() && begin + common + block_size <= prompt.size() &&
           std::memcmp(edge.key.data() + common, prompt.data() + begin + common,
                       block_size * sizeof(token_id)) == 0)
      common += block_size;
    return common;
  }
  bool is_free_leaf(const node* which) const {
    return which != &root_ && which->children.empty() && which->holders == 0;
  }
  void touch(node* which) {
    leaves_.erase({which->used, which});
    which->used = ++clock_;
    if (is_free_leaf(which)) leaves_.insert({which->used, which});
  }
  void hold(node* which) {
    leaves_.erase({which->used, which});
    ++which->holders;
  }
  void release(node* which) {
    --which->holders;
    if (is_free_leaf(which)) leaves_.insert({which->used, which});
  }
  // The upper part becomes a node of its own above `lower`.
  node* split(node* lower, std::size_t length) {
    auto upper = std::make_unique<node>();
    const auto blocks = static_cast<std::ptrdiff_t>(length / block_size);
    upper->key.assign(lower->key.begin(), lower->key.begin() + static_cast<std::ptrdiff_t>(length));
    upper->blocks.assign(lower->blocks.begin(), lower->blocks.begin() + blocks);
    upper->parent = lower->parent;
    upper->used = lower->used;
    node* added = upper.get();
    upper->page = lower->page;
    auto& slot = lower->parent->children[lower->page];
    std::unique_ptr<node> owned = std::move(slot);
    slot = std::move(upper);
    owned->key.erase(owned->key.begin(), owned->key.begin() + static_cast<std::ptrdiff_t>(length));
    owned->blocks.erase(owned->blocks.begin(), owned->blocks.begin() + blocks);
    owned->parent = added;
    lower->page = page_key(lower->key.data());
    added->children[lower->page] = std::move(owned);
    return added;
  }
  std::int32_t take() {
    if (free_.empty()) evict();
    const std::int32_t block = free_.back();
    free_.pop_back();
    return block;
  }
  // The last block of the leaf used least recently.
  void evict() {
    node* leaf = leaves_.begin()->second;
    free_.push_back(leaf->blocks.back());
    leaf->blocks.pop_back();
    leaf->key.resize(leaf->key.size() - block_size);
    if (!leaf->blocks.empty()) return;
    leaves_.erase(leaves_.begin());
    node* parent = leaf->parent;
    parent->children.erase(leaf->page);
    if (is_free_leaf(parent)) leaves_.insert({parent->used, parent});
  }

  node root_;
  std::vector<std::int32_t> free_;
  std::set<std::pair<std::uint64_t, node*>> leaves_;  // that nobody holds, least recently used first
  std::uint64_t clock_ = 0;
  std::vector<node*> path_;
};

using trace = std::vector<tokens> (*)();

void per_block(benchmark::State& state, std::size_t blocks) {
  state.counters["per_block"] =
      benchmark::Counter(static_cast<double>(blocks),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// The whole trace is cached; every prompt is looked up.
void lookup_hash_chain(benchmark::State& state, trace make) {
  const std::vector<tokens> prompts = make();
  hash_chain cache(static_cast<std::int32_t>(num_blocks(prompts)));
  std::vector<std::vector<block_hash>> chains;
  for (const tokens& each : prompts) cache.run(chains.emplace_back(cache.hash(each)));
  for (auto _ : state) {
    for (const auto& each : chains) benchmark::DoNotOptimize(cache.find(each));
  }
  per_block(state, num_blocks(prompts));
}
void lookup_radix_tree(benchmark::State& state, trace make) {
  const std::vector<tokens> prompts = make();
  radix_tree cache(static_cast<std::int32_t>(num_blocks(prompts)));
  for (const tokens& each : prompts) cache.run(each);
  for (auto _ : state) {
    for (const tokens& each : prompts) benchmark::DoNotOptimize(cache.find(each));
  }
  per_block(state, num_blocks(prompts));
}

// Every prompt runs through a pool that holds `share` hundredths of the trace: inserts, and evicts where the
// share is small. `hashed`: the hashing counts too.
void run_hash_chain(benchmark::State& state, trace make, bool hashed) {
  const std::vector<tokens> prompts = make();
  const auto size =
      static_cast<std::int32_t>(num_blocks(prompts) * static_cast<std::size_t>(state.range(0)) / 100);
  std::vector<std::vector<block_hash>> chains;
  hash_chain once(1);
  for (const tokens& each : prompts) chains.push_back(once.hash(each));
  for (auto _ : state) {
    state.PauseTiming();
    auto cache = std::make_unique<hash_chain>(size);
    state.ResumeTiming();
    for (std::size_t i = 0; i < prompts.size(); ++i) cache->run(hashed ? cache->hash(prompts[i]) : chains[i]);
    state.PauseTiming();
    cache.reset();
    state.ResumeTiming();
  }
  per_block(state, num_blocks(prompts));
}
void run_radix_tree(benchmark::State& state, trace make) {
  const std::vector<tokens> prompts = make();
  const auto size =
      static_cast<std::int32_t>(num_blocks(prompts) * static_cast<std::size_t>(state.range(0)) / 100);
  for (auto _ : state) {
    state.PauseTiming();
    auto cache = std::make_unique<radix_tree>(size);
    state.ResumeTiming();
    for (const tokens& each : prompts) cache->run(each);
    state.PauseTiming();
    cache.reset();
    state.ResumeTiming();
  }
  per_block(state, num_blocks(prompts));
}

void hash_one_block(benchmark::State& state) {
  block_hasher hasher;
  std::mt19937_64 random(3);
  const tokens page = draw(random, block_size);
  block_hash parent = hasher.root({});
  for (auto _ : state) parent = hasher.next(parent, page);
}
BENCHMARK(hash_one_block);

BENCHMARK_CAPTURE(lookup_hash_chain, multi_turn, multi_turn);
BENCHMARK_CAPTURE(lookup_radix_tree, multi_turn, multi_turn);
BENCHMARK_CAPTURE(lookup_hash_chain, system_prompt, shared_system_prompt);
BENCHMARK_CAPTURE(lookup_radix_tree, system_prompt, shared_system_prompt);
// All fits; then a part has to be evicted.
BENCHMARK_CAPTURE(run_hash_chain, multi_turn, multi_turn, false)->Arg(100)->Arg(10);
BENCHMARK_CAPTURE(run_hash_chain, multi_turn_hashed, multi_turn, true)->Arg(100)->Arg(10);
BENCHMARK_CAPTURE(run_radix_tree, multi_turn, multi_turn)->Arg(100)->Arg(10);
BENCHMARK_CAPTURE(run_hash_chain, system_prompt, shared_system_prompt, false)->Arg(100)->Arg(3);
BENCHMARK_CAPTURE(run_hash_chain, system_prompt_hashed, shared_system_prompt, true)->Arg(100)->Arg(3);
BENCHMARK_CAPTURE(run_radix_tree, system_prompt, shared_system_prompt)->Arg(100)->Arg(3);

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();
