#include "runtime/kv_cache/block_hash.hpp"

#include <openssl/evp.h>

#include <bit>
#include <cstddef>
#include <stdexcept>

namespace troupe {

static_assert(std::endian::native == std::endian::little, "tokens are hashed as they lie in memory");

namespace {

struct free_digest {
  void operator()(EVP_MD* digest) const { EVP_MD_free(digest); }
};
struct free_context {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

struct block_hasher::state {
  std::unique_ptr<EVP_MD, free_digest> digest{EVP_MD_fetch(nullptr, "SHA256", nullptr)};
  std::unique_ptr<EVP_MD_CTX, free_context> context{EVP_MD_CTX_new()};
  bool failed = digest == nullptr || context == nullptr;

  void begin() { failed = EVP_DigestInit_ex2(context.get(), digest.get(), nullptr) != 1; }
  void add(const void* data, std::size_t bytes) {
    failed = failed || EVP_DigestUpdate(context.get(), data, bytes) != 1;
  }
  block_hash end() {
    block_hash hash;
    failed = failed || EVP_DigestFinal_ex(context.get(), hash.data(), nullptr) != 1;
    if (failed) throw std::runtime_error("OpenSSL cannot compute SHA-256");
    return hash;
  }
};

block_hasher::block_hasher() : state_(std::make_unique<state>()) {
  if (state_->failed) throw std::runtime_error("OpenSSL offers no SHA-256");
}
block_hasher::~block_hasher() = default;
block_hasher::block_hasher(block_hasher&&) noexcept = default;
block_hasher& block_hasher::operator=(block_hasher&&) noexcept = default;

block_hash block_hasher::root(const prefix_scope& scope) {
  state_->begin();
  for (const std::string* text : {&scope.cache_salt, &scope.adapter, &scope.extra}) {
    const std::uint64_t length = text->size();
    state_->add(&length, sizeof(length));
    state_->add(text->data(), text->size());
  }
  return state_->end();
}

block_hash block_hasher::next(const block_hash& parent, std::span<const token_id> tokens) {
  state_->begin();
  state_->add(parent.data(), parent.size());
  state_->add(tokens.data(), tokens.size_bytes());
  return state_->end();
}

}  // namespace troupe
