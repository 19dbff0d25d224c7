#include "actors/net/key_digest.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <stdexcept>

namespace troupe::net {

key_digest::key_digest(std::string_view secret) {
  if (RAND_bytes(salt_.data(), static_cast<int>(salt_.size())) != 1)
    throw std::runtime_error("OpenSSL offers no random bytes");
  digest_ = digest(salt_, secret);
}

bool key_digest::matches(std::string_view text) const {
  const bytes other = digest(salt_, text);
  return CRYPTO_memcmp(digest_.data(), other.data(), digest_.size()) == 0;
}

key_digest::bytes key_digest::digest(const bytes& salt, std::string_view text) {
  bytes out{};
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  if (HMAC(EVP_sha256(), salt.data(), static_cast<int>(salt.size()), data, text.size(), out.data(),
           nullptr) == nullptr)
    throw std::runtime_error("OpenSSL cannot compute HMAC-SHA256");
  return out;
}

}  // namespace troupe::net
