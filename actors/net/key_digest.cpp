#include "actors/net/key_digest.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <stdexcept>

namespace troupe::net {

key_digest::key_digest(std::span<const std::string> secrets) {
  if (RAND_bytes(salt_.data(), static_cast<int>(salt_.size())) != 1)
    throw std::runtime_error("OpenSSL offers no random bytes");
  for (const std::string& secret : secrets) add(secret);
}

key_digest::key_digest(std::string_view secret) : key_digest(std::span<const std::string>()) { add(secret); }

void key_digest::add(std::string_view secret) {
  if (!matches(secret)) digests_.push_back(digest(secret));
}

bool key_digest::matches(std::string_view text) const {
  const bytes other = digest(text);
  bool is_one = false;
  for (const bytes& each : digests_) is_one |= CRYPTO_memcmp(each.data(), other.data(), other.size()) == 0;
  return is_one;
}

bool key_digest::are(std::span<const std::string> secrets) const {
  const auto is_known = [this](const std::string& secret) { return matches(secret); };
  return std::ranges::all_of(secrets, is_known) && key_digest(secrets).size() == size();
}

key_digest::bytes key_digest::digest(std::string_view text) const {
  bytes out{};
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  if (HMAC(EVP_sha256(), salt_.data(), static_cast<int>(salt_.size()), data, text.size(), out.data(),
           nullptr) == nullptr)
    throw std::runtime_error("OpenSSL cannot compute HMAC-SHA256");
  return out;
}

}  // namespace troupe::net
