// The name of a full block's content: a chain of SHA-256 over everything that its K and V depend on. Equal
// names mean equal content, so that no tokens are compared, and no client can make its prompt look like
// another's. (vLLM's hash_block_tokens.)
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/request.hpp"

namespace troupe {

using block_hash = std::array<std::uint8_t, 32>;

// What the K and V of a sequence depend on beside its tokens, and whom it may share them with.
struct prefix_scope {
  std::string cache_salt = {};  // the tenant's: only equal salts share
  std::string adapter = {};     // id of the LoRA adapter
  std::string extra = {};       // multi-modal hash; empty for text
};

// OpenSSL's digest, fetched once, and one context that is used again: no allocation per block.
// Throws std::runtime_error where this OpenSSL offers no SHA-256.
class block_hasher {
 public:
  block_hasher();
  ~block_hasher();
  block_hasher(block_hasher&&) noexcept;
  block_hasher& operator=(block_hasher&&) noexcept;

  // The parent of a sequence's first block: SHA-256 of each text's length (8 bytes, little endian) and bytes.
  block_hash root(const prefix_scope& scope);
  // SHA-256 of the parent's 32 bytes and the block's tokens (4 bytes each, little endian).
  block_hash next(const block_hash& parent, std::span<const token_id> tokens);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe
