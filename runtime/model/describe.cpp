#include "runtime/model/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "runtime/gguf/printable.hpp"

namespace troupe {
namespace {

constexpr std::size_t shown_text = 60;     // bytes of a string value
constexpr std::size_t shown_elements = 6;  // of an array

struct totals {
  std::uint64_t tensors = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;

  void add(const gguf::tensor& tensor) {
    ++tensors;
    elements += tensor.elements();
    bytes += tensor.data.size();
  }
};

std::string scalar_text(std::int64_t number) { return fmt::format("{}", number); }
std::string scalar_text(std::uint64_t number) { return fmt::format("{}", number); }
std::string scalar_text(double number) { return fmt::format("{:.7g}", number); }  // float's precision
std::string scalar_text(bool flag) { return flag ? "true" : "false"; }
std::string scalar_text(std::string_view text) { return '"' + gguf::printable(text, shown_text) + '"'; }

const char* kind_name(std::int64_t) { return "int"; }
const char* kind_name(std::uint64_t) { return "uint"; }
const char* kind_name(double) { return "float"; }
const char* kind_name(bool) { return "bool"; }
const char* kind_name(std::string_view) { return "string"; }

template <class T>
std::string array_text(const std::vector<T>& elements) {
  std::string out = fmt::format("{}[{}]", kind_name(T{}), elements.size());
  const std::size_t shown = std::min(elements.size(), shown_elements);
  for (std::size_t i = 0; i < shown; ++i) out += (i == 0 ? "  " : ", ") + scalar_text(elements[i]);
  return shown < elements.size() ? out + ", ..." : out;
}

std::string value_text(const gguf::value& content) {
  return std::visit(
      [](const auto& held) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, gguf::array>) {
          return std::visit([](const auto& elements) { return array_text(elements); }, held);
        } else {
          return fmt::format("{:<6}  {}", kind_name(held), scalar_text(held));
        }
      },
      content);
}

std::string shape_text(const gguf::tensor& tensor) {
  if (tensor.dimensions == 0) return "scalar";
  return fmt::format("{}", fmt::join(tensor.shape.begin(), tensor.shape.begin() + tensor.dimensions, " x "));
}

class lines {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_metadata(lines& out, const gguf::file& file) {
  std::size_t width = 0;
  for (const auto& entry : file.metadata()) width = std::max(width, gguf::printable(entry.first).size());
  out.add("\nmetadata ({})", file.metadata().size());
  for (const auto& [key, content] : file.metadata()) {
    out.add("  {:<{}}  {}", gguf::printable(key), width, value_text(content));
  }
}

void add_tensors(lines& out, const gguf::file& file) {
  std::size_t names = 0;
  std::size_t shapes = 0;
  for (const auto& tensor : file.tensors()) {
    names = std::max(names, gguf::printable(tensor.name).size());
    shapes = std::max(shapes, shape_text(tensor).size());
  }
  out.add("\ntensors ({})", file.tensors().size());
  for (const auto& tensor : file.tensors()) {
    out.add("  {:<{}}  {:<{}}  {:<7}  {:>12} bytes", gguf::printable(tensor.name), names, shape_text(tensor),
            shapes, gguf::to_string(tensor.type), tensor.data.size());
  }
}

void add_types(lines& out, const gguf::file& file) {
  std::map<gguf::tensor_type, totals> by_type;
  for (const auto& tensor : file.tensors()) by_type[tensor.type].add(tensor);
  out.add("\ntypes ({})", by_type.size());
  for (const auto& [type, sum] : by_type) {
    out.add("  {:<7}  {:>6} tensors  {:>14} parameters  {:>14} bytes{}", gguf::to_string(type), sum.tensors,
            sum.elements, sum.bytes, gguf::is_served(type) ? "" : "  (not served)");
  }
}

}  // namespace

std::string describe(const gguf::file& file) {
  totals all;
  for (const auto& tensor : file.tensors()) all.add(tensor);
  lines out;
  out.add("GGUF version {}: {} metadata keys, {} tensors, {} parameters, {} bytes of tensor data",
          file.version(), file.metadata().size(), all.tensors, all.elements, all.bytes);
  add_metadata(out, file);
  add_tensors(out, file);
  add_types(out, file);
  return out.take();
}

}  // namespace troupe
