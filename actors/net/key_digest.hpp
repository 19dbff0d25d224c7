// A secret of which only a digest is kept, so that nothing that reads this memory learns it.
#pragma once
#include <array>
#include <string_view>

namespace troupe::net {

// HMAC-SHA256 (RFC 2104) under a salt of its own, which is drawn anew each time.
class key_digest {
 public:
  // Throws std::runtime_error where the system has no randomness or no SHA-256.
  explicit key_digest(std::string_view secret);

  // Takes the same time for every text of a length.
  bool matches(std::string_view text) const;

 private:
  using bytes = std::array<unsigned char, 32>;
  static bytes digest(const bytes& salt, std::string_view text);

  bytes salt_{};
  bytes digest_{};
};

}  // namespace troupe::net
