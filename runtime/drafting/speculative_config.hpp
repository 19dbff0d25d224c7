// How drafts are made: what --speculative-config says, in the shape and with the names of vLLM's.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace troupe {

enum class speculative_method {
  ngram,        // prompt_lookup.hpp
  suffix,       // suffix_tree.hpp, over the request and over earlier outputs of its tenant
  draft_model,  // another model of the same vocabulary
};

enum class rejection_method {
  automatic,      // probabilistic or strict, whichever has more drafts accepted
  strict,         // a drafted token is accepted where it is the one that the request draws from the target
  probabilistic,  // accepted with probability min(1, target / draft), else drawn from what is left
};

// "ngram", ...; "auto", ...
const char* to_string(speculative_method method);
const char* to_string(rejection_method method);

struct speculative_config {
  speculative_method method = speculative_method::suffix;
  std::string model = {};  // draft_model: path of its file
  // 1 ... most_draft_tokens: the most that are proposed at once; draft_model: 4.
  std::int32_t num_speculative_tokens = 16;
  std::int32_t prompt_lookup_min = 5;                // ngram: 1 ... max
  std::int32_t prompt_lookup_max = 5;                // ngram: 1 ... 16
  std::int32_t suffix_decoding_max_tree_depth = 24;  // 2 ... 256
  std::int32_t suffix_decoding_max_cached_requests =
      10000;                                     // of a tenant; 0: only the request itself is looked at
  double suffix_decoding_max_spec_factor = 1.0;  // tokens proposed for each token that matches
  double suffix_decoding_min_token_prob = 0.1;   // 0 ... 1: of a token and all proposed before it, by counts
  std::optional<std::int32_t> disable_by_batch_size =
      {};  // no drafts while more sequences than this run; at least 2
  // Not vLLM's: how many of the proposed tokens are verified follows what they cost and how often they come
  // true; false: all.
  bool adaptive = true;
  // Only drafts of a draft model can be accepted otherwise than strictly, and only those for requests that
  // are neither greedy nor seeded. (vLLM has no auto.)
  rejection_method rejection_sample_method = rejection_method::automatic;

  friend bool operator==(const speculative_config&, const speculative_config&) = default;
};

// Reads a JSON object. What it does not name has the default above; as in vLLM, without `method` a `model` of
// "ngram" means ngram and any other a draft model, and one of prompt_lookup_min and _max stands for both.
// vLLM's current "standard" is taken for "probabilistic". Its fields for what there is not here
// (draft_tensor_parallel_size, enforce_eager, ...) may stand there at the values that ask for nothing.
// Errors: invalid_argument, with the field in `param`.
result<speculative_config> parse_speculative_config(std::string_view json);

// The same as one line of JSON, with the fields that its method reads.
std::string to_json(const speculative_config& config);

}  // namespace troupe
