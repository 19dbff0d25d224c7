#include "runtime/executor_cuda/products/kept_choices.hpp"

#include <cstdint>
#include <span>
#include <stdexcept>

#include "runtime/isolation/flat_message.hpp"

namespace troupe {

std::string to_bytes(const kept_choices& choices) {
  constexpr std::size_t lengths = 2 * sizeof(std::uint64_t);
  std::string bytes(lengths + choices.measured_with.size() + sizeof choices.few_rows +
                        choices.products.size() * sizeof(gemm_choice),
                    '\0');
  flat_writer to(std::as_writable_bytes(std::span(bytes)));
  to.text(choices.measured_with);
  to.value(choices.few_rows);
  to.array(choices.products);
  return bytes;
}

std::optional<kept_choices> read_kept_choices(std::string_view bytes) try {
  flat_reader from(std::as_bytes(std::span(bytes)));
  kept_choices choices;
  choices.measured_with = from.text();
  choices.few_rows = from.value<few_row_choices>();
  from.array(choices.products);
  return choices;
} catch (const std::out_of_range&) {
  return std::nullopt;
}

}  // namespace troupe
