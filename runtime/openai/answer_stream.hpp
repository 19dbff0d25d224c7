// How the events of one request become the server-sent events of its answer, whatever shape that has.
// Format of an event: https://html.spec.whatwg.org/multipage/server-sent-events.html
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "runtime/openai/answer_parts.hpp"

namespace troupe::openai {

class answer_stream {
 public:
  answer_stream() = default;
  virtual ~answer_stream() = default;
  answer_stream(const answer_stream&) = delete;
  answer_stream& operator=(const answer_stream&) = delete;

  // Appends what `event` of the stream at `index` (below options.choices()) adds to `out`: nothing where it
  // shows nothing; with the last stream's end, and where one has failed, how the answer ends, and nothing
  // after that.
  virtual void append(std::size_t index, const stream_event& event, std::string& out) = 0;
  virtual bool ended() const = 0;
};

// In the shape that `options` name. `name` must outlive the stream.
std::unique_ptr<answer_stream> make_answer_stream(const answer_identity& identity,
                                                  const answer_options& options, bool with_logprobs,
                                                  const token_namer& name);

}  // namespace troupe::openai
