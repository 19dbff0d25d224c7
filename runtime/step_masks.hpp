// Which tokens the samples of one step may draw: what grammars leave of the vocabulary.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/step_batch.hpp"
#include "runtime/token_bits.hpp"

namespace troupe {

struct step_masks {
  std::uint64_t step = 0;
  std::size_t num_words = 0;         // of one mask: ceil(vocabulary / 32)
  std::vector<std::uint32_t> words;  // [samples][num_words]: sets as in token_bits.hpp
  std::vector<std::uint8_t>
      is_masked;                       // [samples]: 0 where every token is allowed and the words are all ones
  std::vector<sample_end> ends;        // samples without a token, ascending
  std::vector<forced_tokens> forced;   // what follows samples without a choice, ascending
  std::vector<std::int32_t> withheld;  // samples without a mask so far, ascending

  std::span<std::uint32_t> row(std::size_t sample) {
    return std::span(words).subspan(sample * num_words, num_words);
  }
  // Empty where every token is allowed.
  std::span<const std::uint32_t> mask_of(std::size_t sample) const {
    if (sample >= is_masked.size() || is_masked[sample] == 0) return {};
    return std::span(words).subspan(sample * num_words, num_words);
  }
};
// Tells in the step's result what the masks say beside what may be drawn.
inline void note_masks(const step_masks& masks, step_result& result) {
  result.ends = masks.ends;
  result.forced = masks.forced;
  result.withheld = masks.withheld;
}
using step_masks_ptr = std::shared_ptr<const step_masks>;

// `from` where it is allowed, else the allowed token that comes next, after the last one the first; `from`
// where there is none.
token_id next_allowed(std::span<const std::uint32_t> mask, token_id from);

}  // namespace troupe
