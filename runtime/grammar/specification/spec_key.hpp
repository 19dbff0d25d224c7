// What a client asks for as the key of a table. Specifications have up to a megabyte: none is copied for it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/grammar/specification/grammar_spec.hpp"

namespace troupe::grammar {

// Equal exactly where the specifications are, wherever they lie. The hash is worked out once, and differs
// from process to process.
class spec_key {
 public:
  spec_key(grammar_spec_ptr spec);

  const grammar_spec& spec() const { return *spec_; }
  const grammar_spec_ptr& pointer() const { return spec_; }
  std::uint64_t hash() const { return hash_; }

  friend bool operator==(const spec_key& a, const spec_key& b) {
    return a.spec_ == b.spec_ || (a.hash_ == b.hash_ && *a.spec_ == *b.spec_);
  }

 private:
  grammar_spec_ptr spec_;
  std::uint64_t hash_;
};

struct spec_key_hash {
  std::size_t operator()(const spec_key& key) const { return key.hash(); }
};

}  // namespace troupe::grammar
