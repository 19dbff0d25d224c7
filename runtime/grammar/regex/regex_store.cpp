#include "runtime/grammar/regex/regex_store.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/grammar/hash.hpp"

namespace troupe::grammar {

namespace {

constexpr std::size_t first_index_size = 256;

}  // namespace

std::size_t regex_store::byte_set_hash::operator()(const byte_set& set) const {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : set.words) hash = mix(hash, word);
  return hash;
}

regex_store::regex_store(std::size_t max_nodes, std::uint64_t max_steps, const byte_set& alphabet,
                         std::size_t max_depth)
    : index_(first_index_size),
      alphabet_(alphabet),
      max_nodes_(max_nodes),
      max_depth_(max_depth),
      max_steps_(max_steps) {
  nodes_.push_back(node{});  // nothing: never in the index, whose 0 means free
  intern(node{.kind = regex_kind::empty, .nullable = true});
  const regex_id all = bytes(byte_set::all());
  node any{.kind = regex_kind::repeat, .nullable = true, .depth = 1};
  any.a = static_cast<std::uint32_t>(all);
  any.c = unbounded;
  intern(any);
}

void regex_store::fail_with(error e) {
  if (!failure_) failure_ = std::move(e);
}

void regex_store::count(std::uint64_t steps) {
  steps_ += steps;
  if (steps_ > max_steps_) fail_with(exceeded("steps to compile", max_steps_, "max_compile_steps"));
}

void regex_store::end_building(std::size_t max_nodes) {
  max_nodes_ = max_nodes;
  max_steps_ = std::numeric_limits<std::uint64_t>::max();
  literals_.clear();
  spelled_.clear();
}

std::uint64_t regex_store::hash_of(const node& n) const {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(n.kind), n.d);
  if (n.kind == regex_kind::alternation || n.kind == regex_kind::intersection) {
    for (const regex_id link : links_of(n)) hash = mix(hash, static_cast<std::uint32_t>(link));
    return hash;
  }
  return mix(mix(hash, n.a), (std::uint64_t{n.b} << 32) | n.c);
}

bool regex_store::equal(const node& a, const node& b) const {
  if (a.kind != b.kind || a.b != b.b || a.c != b.c || a.d != b.d) return false;
  if (a.kind == regex_kind::alternation || a.kind == regex_kind::intersection)
    return std::ranges::equal(links_of(a), links_of(b));
  return a.a == b.a;
}

void regex_store::grow_index() {
  std::vector<std::uint32_t> index(index_.size() * 2);
  for (std::uint32_t id = 1; id < nodes_.size(); ++id) {
    std::size_t at = hash_of(nodes_[id]) & (index.size() - 1);
    while (index[at] != 0) at = (at + 1) & (index.size() - 1);
    index[at] = id;
  }
  index_ = std::move(index);
}

regex_id regex_store::intern(const node& n) {
  std::size_t at = hash_of(n) & (index_.size() - 1);
  for (; index_[at] != 0; at = (at + 1) & (index_.size() - 1))
    if (equal(nodes_[index_[at]], n)) return regex_id{index_[at]};
  if (failure_) return nothing();
  if (nodes_.size() >= max_nodes_) {
    fail_with(exceeded("regular expression nodes", max_nodes_, "max_regex_nodes"));
    return nothing();
  }
  if (n.depth > max_depth_) {
    fail_with(exceeded("levels in a regular expression", max_depth_, "max_regex_depth"));
    return nothing();
  }
  index_[at] = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back(n);
  if (nodes_.size() * 2 > index_.size()) grow_index();
  return regex_id{static_cast<std::uint32_t>(nodes_.size() - 1)};
}

// Sorted parts, each once, at least two.
regex_id regex_store::make_links(regex_kind kind, const std::vector<regex_id>& parts) {
  node n{.kind = kind};
  n.a = static_cast<std::uint32_t>(links_.size());
  n.b = static_cast<std::uint32_t>(parts.size());
  const bool any = kind == regex_kind::alternation;
  n.nullable = !any;
  n.may_be_nothing = true;
  n.boolean = !any;
  for (const regex_id part : parts) {
    const node& below = node_of(part);
    n.nullable = any ? n.nullable || below.nullable : n.nullable && below.nullable;
    n.boolean = n.boolean || below.boolean;
    n.has_multiple = n.has_multiple || below.has_multiple;
    if (any && !below.may_be_nothing) n.may_be_nothing = false;
    n.depth = std::max<std::uint16_t>(n.depth, static_cast<std::uint16_t>(below.depth + 1));
  }
  if (links_.size() + parts.size() > max_nodes_ * links_per_node) {
    fail_with(exceeded("links of regular expressions", max_nodes_ * links_per_node, "max_regex_nodes"));
    return nothing();
  }
  links_.insert(links_.end(), parts.begin(), parts.end());
  const std::size_t before = nodes_.size();
  const regex_id id = intern(n);
  if (nodes_.size() == before) links_.resize(n.a);
  return id;
}

bool regex_store::has_room_for_text(std::size_t bytes) {
  const std::size_t most = max_nodes_ * text_bytes_per_node;
  if (text_.size() + bytes <= most) return true;
  fail_with(exceeded("bytes of literal text", most, "max_regex_nodes"));
  return false;
}

bool regex_store::is_spelled(std::string_view text) {
  const auto other = std::ranges::find_if(
      text, [this](char c) { return !alphabet_.contains(static_cast<unsigned char>(c)); });
  if (other == text.end()) return true;
  if (!left_out_) left_out_ = static_cast<unsigned char>(*other);
  return false;
}

std::string regex_store::describe_left_out() const {
  if (!left_out_) return {};
  return fmt::format("; no token of the vocabulary has the byte 0x{:02X} of a text or a character of it",
                     *left_out_);
}

std::optional<std::uint32_t> regex_store::add_text(std::string_view text) {
  if (!has_room_for_text(text.size())) return std::nullopt;
  const auto offset = static_cast<std::uint32_t>(text_.size());
  text_.append(text);
  for (const char c : text) in_text_[static_cast<unsigned char>(c)] = true;
  return offset;
}

// The part of each class that lies in the set becomes a class of its own unless it is the whole class.
void regex_store::tell_apart(const byte_set& set) {
  std::array<std::int16_t, 256> total{}, part{}, inside{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    ++total[apart_[byte]];
    part[apart_[byte]] =
        static_cast<std::int16_t>(part[apart_[byte]] + set.contains(static_cast<unsigned char>(byte)));
  }
  inside.fill(-1);
  const std::size_t before = num_apart_;
  for (std::size_t c = 0; c < before; ++c)
    if (part[c] != 0 && part[c] != total[c]) inside[c] = static_cast<std::int16_t>(num_apart_++);
  set.for_each([&](unsigned char byte) {
    if (inside[apart_[byte]] >= 0) apart_[byte] = static_cast<std::uint8_t>(inside[apart_[byte]]);
  });
}

regex_store::byte_classes regex_store::classes() {
  for (; sets_told_apart_ < sets_.size() && num_apart_ < 256; ++sets_told_apart_)
    if (sets_[sets_told_apart_].size() != 1) tell_apart(sets_[sets_told_apart_]);  // one byte: in in_text_
  // Bytes of literals, each in a class of its own; then the numbers are made dense.
  std::array<std::int16_t, 256> number{};
  number.fill(-1);
  byte_classes dense;
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::int16_t known = in_text_[byte] ? std::int16_t{-1} : number[apart_[byte]];
    if (known < 0) {
      known = static_cast<std::int16_t>(dense.representatives.size());
      dense.representatives.push_back(static_cast<unsigned char>(byte));
      if (!in_text_[byte]) number[apart_[byte]] = known;
    }
    dense.of[byte] = static_cast<std::uint8_t>(known);
  }
  return dense;
}

std::size_t regex_store::memory_bytes() const {
  return nodes_.capacity() * sizeof(node) + index_.capacity() * sizeof(std::uint32_t) + text_.capacity() +
         links_.capacity() * sizeof(regex_id) + sets_.size() * 2 * sizeof(byte_set) +
         (nothing_known_.size() + loosened_.size()) * 32 + derivatives_.capacity() * sizeof(known_derivative);
}

}  // namespace troupe::grammar
