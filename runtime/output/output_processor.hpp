// Tokens of a step to text of many streams: detokenizing, stop strings, reasoning, usage. Owned by a
// tokenizer actor.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/reasoning.hpp"
#include "runtime/request.hpp"
#include "runtime/stream.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

class output_processor {
 public:
  explicit output_processor(tokenizer_ptr tokenizer);
  ~output_processor();
  output_processor(output_processor&&) noexcept;
  output_processor& operator=(output_processor&&) noexcept;

  // A stream begins. `prompt` is echoed on the first event; where the answer may reason first that is told
  // apart from its text.
  void open(request_id id, std::vector<token_id> prompt, std::shared_ptr<const sampling_params> sampling,
            reasoning_start reasoning = reasoning_start::none);

  struct step_output {
    stream_batch events;              // in the order of the batch; every stream ends with exactly one `end`
    std::vector<request_id> stopped;  // ended here by a stop string: the scheduler must be told
  };
  // Tokens for unknown (ended) streams are dropped.
  step_output process(const token_batch& batch);
  // Ends a stream now, with the text held back so far. Nothing for an unknown id.
  std::optional<stream_event> end(request_id id, finish_reason reason, std::optional<error> failure = {});
  // Ends all of them, for a scheduler that is gone.
  stream_batch end_all(const error& failure);

  std::size_t size() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe
