// Rotary position embedding: the frequency of each rotated pair, scaling applied.
#pragma once
#include <vector>

#include "runtime/gguf/gguf.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

struct rope_frequencies {
  std::vector<float> inverse;    // [rope_dim / 2]
  float attention_scale = 1.0F;  // on rotated Q and K
};

// From `config`'s architecture, rope_dim and context_length and the file's "<architecture>.rope.*" keys:
// none, linear (Chen et al., arXiv 2306.15595), yarn (Peng et al., arXiv 2309.00071, with ggml's rounding of
// the ramp's ends), and the factors of llama3 in the tensor "rope_freqs.weight". Errors: corrupt_file,
// unsupported; the message names the key.
result<rope_frequencies> read_rope_frequencies(const gguf::file& file, const model_config& config);

}  // namespace troupe
