// What a step has sampled, read in the order of its samples.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/step_batch.hpp"

namespace troupe {

class step_samples {
 public:
  step_samples(const step_batch& batch, const step_result& result)
      : batch_(batch), result_(result), ends_(result.ends), forced_(result.forced) {}

  // The first sample of the next sequence that is sampled.
  std::size_t first() const { return first_; }
  void skip(std::int32_t samples) { first_ += static_cast<std::size_t>(samples); }

  const sampled_token& token(std::size_t sample) const { return result_.tokens[sample]; }
  // The guess that stands at the sample's row.
  token_id draft_at(std::size_t sample) const {
    return batch_.tokens[static_cast<std::size_t>(batch_.samples[sample].row)];
  }
  // Null where nothing is said of it. Samples may be left out; none is asked for behind a later one.
  const sample_end* end_of(std::size_t sample) { return ends_.of(sample); }
  const forced_tokens* forced_after(std::size_t sample) { return forced_.of(sample); }
  bool is_withheld(std::size_t sample) const { return result_.is_withheld(sample); }

 private:
  template <class Note>
  class notes {
   public:
    explicit notes(const std::vector<Note>& all) : next_(all.begin()), end_(all.end()) {}
    const Note* of(std::size_t sample) {
      while (next_ != end_ && static_cast<std::size_t>(next_->sample) < sample) ++next_;
      return next_ != end_ && static_cast<std::size_t>(next_->sample) == sample ? &*next_ : nullptr;
    }

   private:
    typename std::vector<Note>::const_iterator next_, end_;
  };

  const step_batch& batch_;
  const step_result& result_;
  notes<sample_end> ends_;
  notes<forced_tokens> forced_;
  std::size_t first_ = 0;
};

}  // namespace troupe
