// What has come of running requests since whoever guesses was told last, of one step or of several.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "runtime/drafting/draft.hpp"
#include "runtime/request.hpp"

namespace troupe {

class gathered_news {
 public:
  // A request that whoever guesses has been told of. What comes of others is no news.
  void open(request_id id) { open_.insert(id); }
  // Output tokens, behind those that it is known to have generated.
  void add(request_id id, std::span<const token_id> tokens);
  // It is over.
  void end(request_id id);
  // Counts one more step, where there is anything to tell.
  void end_step() { num_steps_ += is_empty() ? 0 : 1; }

  std::int32_t num_steps() const { return num_steps_; }
  bool has_ends() const { return !ended_.empty(); }
  bool has_tokens() const { return !tokens_.empty(); }
  bool is_empty() const { return tokens_.empty() && ended_.empty(); }

  // All of it, each request's tokens in one piece, in the order of the ids; nothing is left but who is open.
  draft_news take();
  // Somebody else guesses from now on, who has been told of nobody.
  void forget() { *this = {}; }

 private:
  struct piece {
    request_id id = 0;
    std::size_t begin = 0;
    std::size_t count = 0;
  };
  std::unordered_set<request_id> open_;
  std::vector<piece> pieces_;
  std::vector<token_id> tokens_;
  std::vector<request_id> ended_;
  std::int32_t num_steps_ = 0;
};

}  // namespace troupe
