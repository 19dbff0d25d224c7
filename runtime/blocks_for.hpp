// How many blocks of the KV cache so many tokens take.
#pragma once
#include <concepts>
#include <type_traits>

namespace troupe {

// In the type of `num_tokens`; neither is negative, and `block_size` is not 0.
template <std::integral Tokens>
constexpr Tokens blocks_for(Tokens num_tokens, std::type_identity_t<Tokens> block_size) {
  return (num_tokens + block_size - 1) / block_size;
}

}  // namespace troupe
