// Proposes what running requests may generate next, from their own tokens and from earlier answers of the
// same tenant. No model, no clock: it is told the tokens and says what followed such tokens before.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/drafting/acceptance.hpp"
#include "runtime/drafting/draft.hpp"
#include "runtime/drafting/drafted_request.hpp"
#include "runtime/drafting/speculative_config.hpp"
#include "runtime/drafting/tenant_outputs.hpp"
#include "runtime/request.hpp"

namespace troupe {

struct drafter_options {
  speculative_config config = {};  // ngram or suffix; with draft_model this drafter proposes nothing
  std::size_t max_tenants = 64;    // whose answers are kept while none of their requests is open
  std::size_t max_tenant_bytes = std::size_t{16} << 20U;  // of one tenant's answers
  std::size_t max_cached_bytes = std::size_t{64} << 20U;  // of all; the tenant unused for longest goes first
  std::size_t max_bytes = std::size_t{256} << 20U;        // of these and of the open requests' own tokens
  std::size_t work_tokens = 256;                          // that one call indexes at most
  std::uint64_t hash_seed = 0;                            // strangers should not know it
};

// Calls about ids that are not open are ignored. Tokens are of the vocabulary: none is negative.
class drafter {
 public:
  explicit drafter(const drafter_options& options);

  // A request with its prompt; one that is preempted stays open. An id that is open begins anew. The prompt
  // is indexed by work(), the first piece at once. The higher its temperature the less often it repeats what
  // followed before: what came true of the drafts of others counts for those of about the same.
  void open(request_id id, const std::string& tenant_key, std::span<const token_id> prompt,
            float temperature = 0.0F);
  // Tokens that it has generated, in order. `pending` more are sampled already: the next draft is as much
  // longer and leads up to what they leave to be guessed.
  void append(request_id id, std::span<const token_id> tokens, std::int32_t pending = 0);
  // It is over: its answer joins its tenant's.
  void close(request_id id);

  // What it may generate next; empty where nothing like it has been seen, the request is not open, or its
  // prompt is not indexed yet.
  draft propose(request_id id);

  // Indexes a bounded piece of what waits: prompts in turn, then answers. True where more waits: call again
  // when there is time.
  bool work();
  // Whether anything waits.
  bool has_work() const { return !to_index_.empty() || !to_take_in_.empty(); }

  std::size_t num_requests() const { return requests_.size(); }
  std::size_t num_tenants() const { return tenants_.size(); }
  std::size_t num_cached_requests() const;  // answers of all tenants
  std::size_t cached_bytes() const { return answer_bytes_; }
  // All that is remembered: never more than max_bytes when a call has returned.
  std::size_t bytes() const { return answer_bytes_ + request_bytes_; }
  // Open ones that were given up for want of room: they are drafted for no more.
  std::uint64_t num_forgotten_requests() const { return num_forgotten_requests_; }

 private:
  struct tenant {
    explicit tenant(const tenant_limits& limits) : outputs(limits) {}
    tenant_outputs outputs;
    std::size_t num_open = 0;
    std::uint64_t last_use = 0;
  };
  struct open_request {
    drafted_request tokens;
    tenant* owner = nullptr;
    acceptance_estimates* estimates = nullptr;
    std::int32_t pending = 0;
    bool has_run = false;
    std::uint64_t last_use = 0;
    std::size_t bytes = 0;
  };

  tenant& tenant_of(const std::string& key);
  // drafter_memory.cpp
  void forget_tenants();
  void make_room();
  void remove(std::unordered_map<request_id, open_request>::iterator request);
  void recount(open_request& request);
  void recount(tenant& owner, std::size_t bytes_before);
  std::size_t room_beside(std::size_t bytes) const;

  acceptance_estimates& estimates_at(float temperature);
  void propose_lookup(const prompt_lookup& lookup, open_request& request);
  void propose_repeated(suffix_tree& tree, open_request& request);
  void propose_answers(suffix_tree& tree, open_request& request);
  void propose_from(suffix_tree& tree, const suffix_tree::locus& match, draft_source source,
                    bool is_longest_match, open_request& request);

  drafter_options options_;
  tenant_limits limits_;
  std::unordered_map<std::string, std::unique_ptr<tenant>> tenants_;
  std::unordered_map<request_id, open_request> requests_;
  std::deque<request_id> to_index_;
  std::deque<tenant*> to_take_in_;
  std::uint64_t uses_ = 0;
  std::size_t answer_bytes_ = 0;
  std::size_t request_bytes_ = 0;
  std::uint64_t num_forgotten_requests_ = 0;
  std::array<acceptance_estimates, 4> estimates_;  // [range of temperatures]
  suffix_continuation continuation_;
};

}  // namespace troupe
