// A guess at how a sequence goes on, and what whoever guesses must hear to do so.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/request.hpp"

namespace troupe {

// Of one sequence in one step, whatever the settings say.
inline constexpr std::int32_t most_draft_tokens = 64;

struct draft {
  request_id id = 0;
  std::int32_t after = 0;  // tokens of the sequence, prompt and output, that it continues
  std::vector<token_id> tokens = {};
  std::vector<float> probabilities = {};  // that each is right, given that those before it are
  // Of a draft that is accepted or rejected by chance (verify_draft.hpp). Whether one of its tokens is
  // verified must not depend on that token or on what follows it: a step takes all of them, or as many as it
  // has room for. 0: a draft is right where the request draws its tokens anyway.
  std::uint64_t number = 0;
  // So many of its first tokens stand in places that steps in flight sample: they lead up to those that a
  // step may verify, of which there are no more than stand behind them (of a draft without a number).
  std::int32_t lead = 0;

  // The first `count` of its tokens.
  void keep(std::size_t count) {
    tokens.resize(count);
    probabilities.resize(count);
  }
  // What is left of it where a grammar has its first `possible` tokens and not the next one. A draft that is
  // accepted or rejected by chance keeps that one: verified it is rejected, left out it would be drawn anew.
  // What stands behind it is never accepted.
  void cut_for_grammar(std::size_t possible) {
    keep(std::min(tokens.size(), possible + (number == 0 ? 0 : 1)));
  }
  std::int32_t num_behind_lead() const { return static_cast<std::int32_t>(tokens.size()) - lead; }
};

// What has come of running requests since the last news.
struct draft_news {
  struct output {
    request_id id = 0;
    std::int32_t count = 0;    // its next output tokens
    std::int32_t pending = 0;  // further ones that steps in flight will have sampled when a draft is verified
  };
  std::vector<output> outputs = {};
  std::vector<token_id> tokens = {};   // of all outputs, in order
  std::vector<request_id> ended = {};  // after these

  // Says all of it to whoever has append(id, tokens, pending) and close(id).
  template <class Listener>
  void tell(Listener& who) const {
    std::span<const token_id> rest = tokens;
    for (const output& each : outputs) {
      const auto length = static_cast<std::size_t>(each.count);
      who.append(each.id, rest.first(length), each.pending);
      rest = rest.subspan(length);
    }
    for (const request_id id : ended) who.close(id);
  }
};

}  // namespace troupe
