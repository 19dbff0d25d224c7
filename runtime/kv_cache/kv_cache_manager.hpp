// Who holds which block of KV memory, and which prefixes can be found there. The only writer of block tables.
//
// A full block's content is named by a hash chain (block_hash.hpp) and can be found by any sequence of the
// same prefix and scope once the step that filled it is committed; after its last holder it stays until its
// room is wanted. Blocks that others may read are never written again: a sequence shares full blocks only,
// computes its last token itself, and a fork begins with a copy of the block that it goes on writing.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/blocks_for.hpp"
#include "runtime/kv_cache/block_hash.hpp"
#include "runtime/kv_cache/block_pool.hpp"
#include "runtime/kv_cache/block_table.hpp"
#include "runtime/kv_cache/cached_sequence.hpp"
#include "runtime/kv_cache/step_demand.hpp"
#include "runtime/near_memory.hpp"
#include "runtime/object_pool.hpp"
#include "runtime/request.hpp"

namespace troupe {

struct kv_cache_options {
  std::int32_t num_blocks = 0;   // at least 1
  std::int32_t block_size = 16;  // tokens, at least 1
  bool enable_prefix_caching = true;
};

// All in tokens, of first grants; a grant after preempt() is not counted again (as in vLLM).
struct prefix_cache_counts {
  std::uint64_t queries = 0;               // that were looked for
  std::uint64_t hits = 0;                  // that the prefix cache had
  std::uint64_t cached_prompt_tokens = 0;  // not computed: hits and forks
};

// Every call of a step takes time in proportion to the blocks and sequences that it names, not to those that
// there are; to forget the cache or the storage takes time for all of it. The steady state of decode does not
// allocate.
class kv_cache_manager {
 public:
  using options = kv_cache_options;
  explicit kv_cache_manager(const kv_cache_options& wanted);

  // Makes a waiting sequence known by its tokens (after a release(): prompt and output): hashes its full
  // blocks. A sequence that is never added gets blocks and shares none. Ignored while it holds blocks.
  void add_sequence(request_id id, std::span<const token_id> prompt, const prefix_scope& scope);
  // The same of a request, which forks where it is told to; one that wants the log-probabilities of its
  // prompt computes all of it and so shares nothing.
  void add_request(const engine_request& request);
  // Tokens that a step has sampled, after its commit_step(), before the next one and before the sequence's
  // release(): they prove that all tokens before the last are stored, and these blocks can be found from now
  // on where their hash is known. Ignored for a sequence never added.
  void append_tokens(request_id id, std::span<const token_id> tokens);
  // The same of several sequences: `tokens` are those of all, in order, as many as the appends count.
  void append_tokens(std::span<const token_append> appends, std::span<const token_id> tokens);
  // Hashes the blocks that appended tokens have filled, and looks for those that the next step may want; for
  // a moment when the device is busy.
  void index_blocks();
  // At its first grant the child shares what is computed of the parent's blocks, up to all but the last of
  // the child's known tokens, which must be the parent's too. Without blocks of the parent by then it is a
  // sequence like any other.
  void fork(request_id parent, request_id child);
  // What a first grant would find now, in tokens.
  std::int32_t cached_tokens(request_id id) const;

  // All or nothing per sequence, in the order of the demand. `out` is overwritten, its memory reused.
  void reserve_step(const step_demand& demand, step_reservation& out);
  step_reservation reserve_step(const step_demand& demand);
  // Step `step` and all before it have been executed, or their runner is gone: blocks released under them
  // come back to the pool. The sequences of a failed step must be released without a further demand.
  void commit_step(std::uint64_t step);
  // Takes back the blocks behind so many tokens. Only while no step that reads the table is in flight.
  void trim(const block_trim& wanted);
  // The sequence is over: its references are dropped; blocks that no one else holds are free, or cached,
  // after `last_step` is committed. Unknown ids are ignored.
  void release(request_id id, std::uint64_t last_step);
  // The same, but it will come back: its tokens and hashes stay known.
  void preempt(request_id id, std::uint64_t last_step);
  // Each as it says.
  void give_back(std::span<const block_release> releases);

  // No prefix that is cached now will be found any more, nor what sequences that hold blocks now have
  // computed. False where there are such sequences: they go on with what they have.
  bool reset_prefix_cache();

  // What is stored is lost, and no step up to `last_step` will write any more: every sequence comes back as
  // after preempt(), and no prefix is found.
  void lose_storage(std::uint64_t last_step);
  // The same of steps alone: what was stored before them is found.
  void lose_steps(std::uint64_t last_step);

  std::int32_t num_blocks() const { return pool_.num_blocks(); }
  std::int32_t free_blocks() const { return pool_.available(); }  // the cached ones too
  std::int32_t cached_blocks() const { return pool_.num_cached(); }
  std::int32_t references(std::int32_t block) const { return pool_.references(block); }
  std::int32_t block_size() const { return block_size_; }
  double usage() const;  // 0..1, the share of blocks that are held
  const prefix_cache_counts& counts() const { return counts_; }
  // Bytes of the prefix index, and of the hashes and the tokens not hashed yet that sequences have room for,
  // those that have ended too: their room is for the next ones.
  std::size_t hash_bytes() const;
  // Empty, or what is wrong: free + cached + referenced == all, every count, every hash entry. Takes time in
  // proportion to the pool. Builds with assertions do it whenever the last held block comes back.
  std::string check() const;
  bool consistent() const { return check().empty(); }

 private:
  struct pending_drop {
    std::uint64_t last_step = 0;
    block_table table;
  };
  // What a first grant finds: leading tokens, whole blocks of them to share, the rest to copy.
  struct prefix_match {
    std::int32_t num_tokens = 0;
    std::int32_t num_found = 0;  // of these, in the prefix cache: a fork may have more
    std::optional<std::int32_t> copied_from = {};
    bool outdated = false;  // they are a forked sequence's from before a reset
  };

  cached_sequence* find(request_id id) const;
  // The same, of a sequence that has been seen at `place`.
  cached_sequence* find(request_id id, std::int32_t place) const;
  cached_sequence& find_or_make(request_id id);
  std::int32_t blocks_for(std::int32_t num_tokens) const {
    return troupe::blocks_for(num_tokens, block_size_);
  }

  // `shared` gets the blocks to share.
  prefix_match match_prefix(const cached_sequence& who, std::int32_t num_tokens,
                            std::vector<std::int32_t>& shared) const;
  // For a match_prefix() soon.
  void prefetch_matches(const cached_sequence& who) const;
  void prefetch_sequence(std::int32_t place) const;
  void prefetch_table_end(std::int32_t place) const;
  void prefetch_tail(std::int32_t place) const;
  void append_to(cached_sequence* who, std::span<const token_id> tokens);
  void decide(const sequence_demand& wanted, bool refused, step_reservation& out);
  void make_room_for_drafts(const step_demand& demand, step_reservation& out);
  void begin_table(cached_sequence& who, const prefix_match& match, std::int32_t num_blocks,
                   std::uint64_t step);
  void extend_table(cached_sequence& who, std::int32_t num_blocks, std::uint64_t step);
  void make_table_larger(cached_sequence& who, std::size_t num_blocks, std::uint64_t step);
  void count_first_grant(const cached_sequence& who, const prefix_match& match);
  void write_grant(const cached_sequence& who, sequence_grant& grant, step_reservation& out) const;

  // Leading blocks that others may find.
  std::int32_t num_publishable(const cached_sequence& who) const;
  void publish(cached_sequence& who);
  void publish_all();
  void index(cached_sequence& who);
  void forget(request_id id, std::uint64_t last_step);
  void set_aside(cached_sequence& who, std::uint64_t last_step);
  void give_up_table(cached_sequence& who, std::uint64_t last_step);
  void forget_copy(const cached_sequence& who);
  // Its blocks are dropped by the next drop_blocks().
  void take_apart(block_table& table);
  void drop_blocks();
  void check_when_idle() const;
  std::string check_sequence(const cached_sequence& who) const;

  std::int32_t block_size_;
  bool enable_prefix_caching_;
  near_memory memory_;
  block_pool pool_;
  block_hasher hasher_;
  object_pool<cached_sequence> all_sequences_{
      memory_.passing()};  // those in use and those kept for their memory
  boost::unordered_flat_map<request_id, cached_sequence*> sequences_;
  std::vector<cached_sequence*> to_index_;
  std::vector<cached_sequence*> to_publish_;  // while tokens are appended
  std::vector<pending_drop> pending_;         // held until a step that may write or copy them is committed
  std::uint64_t committed_ = 0;
  prefix_cache_counts counts_;

  std::shared_ptr<table_memory> tables_ = std::make_shared<table_memory>();
  std::vector<std::int32_t> shared_;   // what the grant under way shares
  std::vector<std::int32_t> dropped_;  // blocks of tables that were taken apart, until drop_blocks()
};

}  // namespace troupe
