// Secrets of which only digests are kept, so that nothing that reads this memory learns them.
#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::net {

// HMAC-SHA256 (RFC 2104) under a salt of its own, which is drawn anew each time.
class key_digest {
 public:
  // Throws std::runtime_error where the system has no randomness or no SHA-256.
  explicit key_digest(std::string_view secret);
  // Of several, each of which will do.
  explicit key_digest(std::span<const std::string> secrets);

  std::size_t size() const { return digests_.size(); }  // different secrets
  // Whether it is one of them. Takes the same time for every text of a length.
  bool matches(std::string_view text) const;
  // Whether they are these, in whatever order.
  bool are(std::span<const std::string> secrets) const;

 private:
  using bytes = std::array<unsigned char, 32>;
  void add(std::string_view secret);
  bytes digest(std::string_view text) const;

  bytes salt_{};
  std::vector<bytes> digests_;
};

}  // namespace troupe::net
