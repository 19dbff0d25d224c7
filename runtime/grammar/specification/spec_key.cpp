#include "runtime/grammar/specification/spec_key.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace troupe::grammar {
namespace {

__extension__ typedef unsigned __int128 product_of_words;  // NOLINT(modernize-use-using)

// Odd, with as many ones as zeros; any such do.
constexpr std::uint64_t first_key = 0xA0761D6478BD642FU, second_key = 0xE7037ED1A0B428DBU;

// The two halves of the 128-bit product, as wyhash (Wang Yi) folds them.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<product_of_words>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

std::uint64_t add(std::uint64_t hash, std::string_view text) {
  hash = fold(hash ^ text.size(), second_key);
  for (std::array<std::uint64_t, 2> words{}; !text.empty(); words = {}) {
    const std::size_t size = std::min(text.size(), sizeof(words));
    std::memcpy(words.data(), text.data(), size);
    text.remove_prefix(size);
    hash = fold(words[0] ^ first_key, words[1] ^ hash ^ second_key);
  }
  return hash;
}

// Another one in each process, as the system places it in memory: nobody can prepare texts of equal hash.
std::uint64_t seed() { return fold(reinterpret_cast<std::uintptr_t>(&seed) ^ first_key, second_key); }

std::uint64_t hash_of(const grammar_spec& spec) {
  std::uint64_t numbers = spec.json.max_white_space;
  for (const bool flag : {spec.json.fixed_order, spec.json.plain_integers, spec.json.closed_objects,
                          spec.json.short_numbers, spec.json.only_objects})
    numbers = numbers * 2 + (flag ? 1 : 0);
  numbers = numbers * 4 + static_cast<std::uint64_t>(spec.reasoning);
  std::uint64_t hash = fold(seed() ^ static_cast<std::uint64_t>(spec.kind), second_key ^ numbers);
  hash = add(hash, spec.text);
  for (const std::string& choice : spec.choices) hash = add(hash, choice);
  return hash;
}

}  // namespace

spec_key::spec_key(grammar_spec_ptr spec) : spec_(std::move(spec)), hash_(hash_of(*spec_)) {}

}  // namespace troupe::grammar
