// Collects the events of a request that did not ask for streaming into one body, whatever shape that has.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "runtime/openai/answer_parts.hpp"

namespace troupe::openai {

class answer_collector {
 public:
  answer_collector() = default;
  virtual ~answer_collector() = default;
  answer_collector(const answer_collector&) = delete;
  answer_collector& operator=(const answer_collector&) = delete;

  // Of the stream at `index`, which must be below options.choices().
  virtual void add(std::size_t index, stream_event event) = 0;
  // Nothing more is waited for: all streams have ended, or one has failed.
  virtual bool complete() const = 0;
  // Why there is no answer: set where a stream ended with an error.
  virtual const error* failure() const = 0;
  // Defined once complete(). The usage counts each prompt once and all completions.
  virtual std::string body() const = 0;
};

// In the shape that `options` name. `name` must outlive it.
std::unique_ptr<answer_collector> make_answer_collector(const answer_identity& identity,
                                                        const answer_options& options, bool with_logprobs,
                                                        const token_namer& name);

}  // namespace troupe::openai
