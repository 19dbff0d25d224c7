// A body from anybody, read as each of the API's requests.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/json/exact_number.hpp"
#include "runtime/json/json_reader.hpp"
#include "runtime/openai/request.hpp"
#include "runtime/openai/responses/response_request.hpp"
#include "runtime/openai/tokenize.hpp"
#include "runtime/sampling/sampler.hpp"
#include "tests/fuzz/require.hpp"

namespace troupe::fuzz {
namespace {

const openai::request_context context{.model = "m", .vocab_size = 300};

void check_sampling(const result<openai::parsed_request>& request) {
  if (!request) {
    require(!request.error().message.empty(), "an error says why");
    return;
  }
  require(request->answer.n >= 1 && request->answer.n <= troupe::max_choices, "choices are bounded");
  const sampling_params& asked = request->generation.sampling;
  if (!validate(asked, {.vocab_size = 300, .max_logprobs = 20, .max_stop_strings = 16})) return;
  for (const float number : {asked.temperature, asked.top_p, asked.min_p, asked.presence_penalty,
                             asked.frequency_penalty, asked.repetition_penalty})
    require(std::isfinite(number), "what is valid is a number");
  require(!asked.max_tokens || *asked.max_tokens >= 1, "what is valid asks for something");
}

void check_response(const result<openai::parsed_request>& request) {
  check_sampling(request);
  if (request)
    require(json::accept("{" + *request->echoed_members + "}"), "what is echoed is members of an object");
}

}  // namespace
}  // namespace troupe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace troupe;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = openai::read_body(text);
  if (!document) return 0;
  fuzz::require(json::accept(text), "another parser takes it for JSON too");
  const auto again = openai::read_body(dump_exactly(*document));
  fuzz::require(again && *again == *document, "what is read and written is read as the same");
  fuzz::check_sampling(openai::parse_chat(*document, fuzz::context));
  fuzz::check_sampling(openai::parse_completion(*document, fuzz::context));
  fuzz::check_sampling(openai::parse_generation(*document, fuzz::context));
  fuzz::check_response(openai::parse_response(*document, fuzz::context));
  (void)openai::parse_tokenize(*document, fuzz::context);
  (void)openai::parse_detokenize(*document, fuzz::context);
  return 0;
}
