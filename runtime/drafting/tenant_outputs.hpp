// What a tenant's requests have answered lately, in one suffix tree: the oldest answers make room for new
// ones.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/drafting/suffix_tree.hpp"
#include "runtime/request.hpp"

namespace troupe {

struct tenant_limits {
  std::int32_t max_depth = 24;       // of the tree, at least 2
  std::size_t max_requests = 10000;  // answers; 0: none are kept
  std::size_t max_bytes = std::size_t{16} << 20U;
  std::uint64_t hash_seed = 0;
};

class tenant_outputs {
 public:
  explicit tenant_outputs(const tenant_limits& limits);

  // An answer, to be found once work() has come to its end. Of a very long one the end is kept.
  void add(std::vector<token_id> tokens);
  // Goes on with taking in answers and giving up old ones, for about `most` tokens. True where work is left.
  bool work(std::size_t most);
  bool has_work() const { return !waiting_.empty(); }

  suffix_tree& tree() { return tree_; }
  // Answers in the tree and on their way into it.
  std::size_t num_requests() const { return tree_.num_sequences() + waiting_.size(); }
  std::size_t bytes() const;  // in use; allocated is at most a few times as much

 private:
  bool is_full() const;

  tenant_limits limits_;
  suffix_tree tree_;
  std::deque<std::vector<token_id>> waiting_;
  std::size_t waiting_tokens_ = 0;
  std::size_t taken_in_ = 0;  // tokens of the first that waits
};

}  // namespace troupe
