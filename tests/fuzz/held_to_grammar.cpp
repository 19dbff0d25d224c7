#include "tests/fuzz/held_to_grammar.hpp"

#include <vector>

#include "runtime/grammar/matcher.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"
#include "runtime/token_bits.hpp"
#include "tests/fuzz/require.hpp"

namespace troupe::fuzz {
namespace {

// Small enough that no input takes seconds under the sanitizers.
constexpr grammar::grammar_limits limits{.max_source_bytes = 1 << 14,
                                         .max_regex_nodes = 20'000,
                                         .max_symbols = 10'000,
                                         .max_links = 50'000,
                                         .max_memory_bytes = 8 << 20,
                                         .max_compile_steps = 200'000,
                                         .max_mask_steps = 50'000};
constexpr std::size_t max_tokens = 24;

std::vector<token_id> allowed_tokens(const std::vector<std::uint32_t>& mask) {
  std::vector<token_id> allowed;
  for (token_id token = 0; token < static_cast<token_id>(mask.size() * 32); ++token)
    if (has_token(mask, token)) allowed.push_back(token);
  return allowed;
}

}  // namespace

void hold_to(const grammar_spec& spec, std::string_view path) {
  const auto compiled = grammar::compile(spec, grammar::byte_token_trie(), limits);
  if (!compiled) {
    require(!compiled.error().message.empty(), "a refusal says why");
    require(compiled.error().code != error_code::internal, "a refusal is the client's fault");
    return;
  }
  grammar::matcher place(*compiled);
  std::vector<std::uint32_t> mask(grammar::byte_token_trie()->num_words());
  for (std::size_t i = 0; i < max_tokens && !place.is_terminated(); ++i) {
    if (!place.fill_mask(mask)) return;
    const auto allowed = allowed_tokens(mask);
    require(!allowed.empty(), "a mask without an error allows something");
    const auto choice = path.empty() ? i : static_cast<unsigned char>(path[i % path.size()]);
    const auto taken = place.accept(allowed[choice % allowed.size()]);
    if (!taken) {
      require(taken.error().code == error_code::too_large, "what the mask allows is accepted");
      return;
    }
  }
  const auto forced = place.forced_bytes(64);
  require(!forced || forced->size() <= 64, "no more is forced than was asked for");
  require(place.rollback(place.num_accepted()).has_value(), "everything can be taken back");
}

}  // namespace troupe::fuzz
