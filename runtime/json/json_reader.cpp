#include "runtime/json/json_reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/json/exact_number.hpp"

namespace troupe {
namespace {

// Of members with the same name only the last is kept, at the place of the first. O(n log n).
void keep_last_duplicates(json::object_t& object) {
  json::object_t::Container& members = object;
  if (members.size() < 2) return;
  std::vector<std::uint32_t> order(members.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return members[a].first < members[b].first; });
  std::vector<bool> superseded(members.size(), false);
  bool any = false;
  for (std::size_t run = 0; run < order.size();) {
    std::size_t last = run;
    while (last + 1 < order.size() && members[order[last + 1]].first == members[order[run]].first) ++last;
    if (last > run) {
      members[order[run]].second = std::move(members[order[last]].second);
      for (std::size_t i = run + 1; i <= last; ++i) superseded[order[i]] = true;
      any = true;
    }
    run = last + 1;
  }
  if (!any) return;
  json::object_t kept;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!superseded[i]) kept.emplace_back(members[i].first, std::move(members[i].second));
  }
  object = std::move(kept);
}

// Builds the document from the parser's events and stops it, with a reason, where a limit is passed.
// Members are appended, not looked up: nlohmann's ordered_map would search all earlier ones for each.
class document_builder : public nlohmann::json_sax<json> {
 public:
  document_builder(const json_limits& limits, const kept_numbers& kept, std::string_view subject)
      : limits_(limits), kept_(kept), subject_(subject), keeps_(kept.everywhere) {}

  bool null() override { return place(nullptr); }
  bool boolean(bool value) override { return place(value); }
  bool number_integer(number_integer_t value) override { return place(value); }
  bool number_unsigned(number_unsigned_t value) override { return place(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    const bool is_lost = keeps_ && value == 0 && !is_written_zero(text);
    if (!std::isfinite(value) || is_lost) return refuse_number("is out of range");
    if (!keeps_ || !says_more_than_a_double(text, value)) return place(value);
    if (text.size() > longest_kept_number) return refuse_number("is too long");
    return large() && put(keep_number(text)) != nullptr;
  }
  bool string(string_t& value) override { return large() && place(std::move(value)); }
  bool binary(binary_t&) override { return stop("binary values are not JSON"); }
  bool key(string_t& name) override {
    if (!large()) return false;
    auto& members = open_.back()->get_ref<json::object_t&>();
    if (members.size() >= limits_.max_members) return stop("an object has too many members");
    if (open_.size() == 1)
      keeps_ = kept_.everywhere || std::ranges::find(kept_.members, name) != kept_.members.end();
    members.emplace_back(std::move(name), nullptr);
    return true;
  }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override {
    keep_last_duplicates(open_.back()->get_ref<json::object_t&>());
    open_.pop_back();
    return true;
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& why) override {
    // 406 is a number too large for a double; every other error is one of syntax or encoding.
    const std::string at = " at byte " + std::to_string(position);
    return why.id == 406 ? refuse_number("is out of range" + at) : refuse_text(why.what(), at);
  }

  json take() { return std::move(root_); }
  error failure() const { return {error_code::invalid_argument, reason_, pointer_}; }

 private:
  template <class Value>
  bool place(Value&& value) {
    return put(json(std::forward<Value>(value))) != nullptr;
  }
  bool open(json container) {
    if (open_.size() >= limits_.max_depth)
      return stop("the JSON is nested too deeply, more than " + std::to_string(limits_.max_depth) +
                  " levels");
    if (!large()) return false;
    json* const placed = put(std::move(container));
    if (placed == nullptr) return false;
    open_.push_back(placed);
    return true;
  }
  json* put(json value) {
    if (++values_ > limits_.max_values) {
      stop("the JSON has too many values");
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      auto& elements = parent.get_ref<json::array_t&>();
      elements.push_back(std::move(value));
      return &elements.back();
    }
    json& member = parent.get_ref<json::object_t&>().back().second;
    member = std::move(value);
    return &member;
  }
  bool refuse_number(const std::string& why) {
    for (const json* each : open_) {
      const bool is_last = each == open_.back();  // the others have what is open in them already
      pointer_ +=
          '/' + (each->is_array() ? std::to_string(each->size() - (is_last ? 0 : 1))
                                  : escape_pointer(each->get_ref<const json::object_t&>().back().first));
    }
    return stop("a number " + why + (pointer_.empty() ? "" : ", at \"" + pointer_ + '"'));
  }
  // In our words: the library's own repeat what a client has sent, behind "last read".
  bool refuse_text(std::string_view told, const std::string& at) {
    told = told.substr(0, told.find("last read"));
    const auto speaks_of = [told](std::string_view what) {
      return told.find(what) != std::string_view::npos;
    };
    if (speaks_of("surrogate"))
      return stop("a string has half of a surrogate pair, which is no character," + at);
    const std::string text(subject_.empty() ? "the body" : subject_);
    return stop_with(text + (speaks_of("ill-formed UTF-8") ? " is not UTF-8" : " is not valid JSON") + at);
  }
  bool large() { return ++large_values_ <= limits_.max_large_values || stop("the JSON has too many values"); }
  // Of one of the text's values.
  bool stop(const std::string& reason) {
    return stop_with(subject_.empty() ? reason : std::string(subject_) + ": " + reason);
  }
  bool stop_with(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
    return false;
  }

  const json_limits& limits_;
  const kept_numbers& kept_;
  std::string_view subject_;
  bool keeps_;  // where the next value stands
  json root_;
  std::vector<json*> open_;
  std::size_t values_ = 0;
  std::size_t large_values_ = 0;
  std::string reason_;
  std::string pointer_;  // of a number that is refused
};

}  // namespace

std::string escape_pointer(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

result<json> read_json(std::string_view text, const json_limits& limits, const kept_numbers& kept,
                       std::string_view subject) {
  document_builder builder(limits, kept, subject);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) {
    return tl::unexpected(builder.failure());
  }
  return builder.take();
}

}  // namespace troupe
