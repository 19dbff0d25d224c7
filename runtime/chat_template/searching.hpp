// Where a text stands in another. The time grows with the sizes of both, not with their product.
#pragma once
#include <cstddef>
#include <string_view>

namespace troupe::jinja {

// The first place from `from` on, or the last that ends before `end`; std::string_view::npos: nowhere.
std::size_t find_first(std::string_view text, std::string_view wanted, std::size_t from = 0);
std::size_t find_last(std::string_view text, std::string_view wanted,
                      std::size_t end = std::string_view::npos);
// How many times it stands there, each behind the one before. It is not empty.
std::size_t count_of(std::string_view text, std::string_view wanted);

}  // namespace troupe::jinja
