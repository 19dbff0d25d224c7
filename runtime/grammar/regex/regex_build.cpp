// The constructors: equal languages become equal nodes where that is cheap to see.
#include <algorithm>

#include "runtime/grammar/regex/regex_store.hpp"
#include "runtime/utf8.hpp"

namespace troupe::grammar {

namespace {

constexpr std::uint32_t number(regex_id r) { return static_cast<std::uint32_t>(r); }

constexpr std::uint64_t max_divisor = std::uint64_t{1} << 59;  // so that ten remainders fit
constexpr std::size_t strings_from = 4;  // literals in one alternation that are worth a sorted table

}  // namespace

regex_id regex_store::bytes(const byte_set& of) {
  const byte_set set = of & alphabet_;
  if (set.empty()) return nothing();
  const auto [entry, added] = set_ids_.try_emplace(set, static_cast<std::uint32_t>(sets_.size()));
  if (added) {
    sets_.push_back(set);
    if (set.size() == 1) set.for_each([&](unsigned char byte) { in_text_[byte] = true; });
  }
  return intern(node{.kind = regex_kind::bytes, .a = entry->second});
}

regex_id regex_store::make_literal(std::uint32_t offset, std::uint32_t size) {
  if (size == 0) return empty();
  if (size == 1) return bytes(byte_set::of(static_cast<unsigned char>(text_[offset])));
  return intern(node{.kind = regex_kind::literal, .a = offset, .b = size});
}

regex_id regex_store::literal(std::string_view text) {
  if (text.empty()) return empty();
  if (!is_spelled(text)) return nothing();
  if (text.size() == 1) return bytes(byte_set::of(static_cast<unsigned char>(text[0])));
  count(text.size() / text_bytes_in_a_step);
  const auto known = literals_.find(std::string(text));
  if (known != literals_.end()) return known->second;
  const auto offset = add_text(text);
  if (!offset) return nothing();
  const regex_id id = make_literal(*offset, static_cast<std::uint32_t>(text.size()));
  literals_.emplace(text, id);
  return id;
}

regex_id regex_store::make_strings(std::uint32_t table, std::uint32_t first, std::uint32_t last,
                                   std::uint32_t depth) {
  if (first == last) return nothing();
  const string_table& entries = *tables_[table];
  if (last - first == 1) return make_literal(entries[first].offset + depth, entries[first].size - depth);
  node n{.kind = regex_kind::strings, .a = table, .b = first, .c = last, .d = depth};
  n.nullable = entries[first].size == depth;
  return intern(n);
}

regex_id regex_store::one_of(std::vector<std::string> texts) {
  std::erase_if(texts, [this](const std::string& text) { return !is_spelled(text); });
  if (texts.empty()) return nothing();
  count(texts.size() / links_in_a_step);
  std::ranges::sort(texts);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  auto table = std::make_shared<string_table>();
  table->reserve(texts.size());
  for (const std::string& text : texts) {
    const auto offset = add_text(text);
    if (!offset) return nothing();
    table->push_back({*offset, static_cast<std::uint32_t>(text.size())});
  }
  tables_.push_back(std::move(table));
  return make_strings(static_cast<std::uint32_t>(tables_.size() - 1), 0,
                      static_cast<std::uint32_t>(texts.size()), 0);
}

// Ranges of code points whose spelling (or what is left of it) has `size` bytes; the first byte of a whole
// spelling is a `lead`, all others continue. Leads that are followed by the same are one set.
regex_id regex_store::utf8_sequences(std::span<const code_point_range> ranges, int size, bool lead) {
  const unsigned mark = !lead ? 0x80U : size == 1 ? 0U : size == 2 ? 0xC0U : size == 3 ? 0xE0U : 0xF0U;
  byte_set whole;  // first bytes that anything may follow
  if (size == 1) {
    for (const auto& [first, last] : ranges) whole = whole | byte_set::range(mark | first, mark | last);
    return bytes(whole);
  }
  const unsigned shift = static_cast<unsigned>(6 * (size - 1));
  const std::uint32_t low = (1U << shift) - 1;
  std::vector<std::pair<unsigned, std::vector<code_point_range>>> partial;
  for (auto [first, last] : ranges) {
    while (first <= last) {
      const std::uint32_t top = first >> shift, end = std::min(last, (top << shift) | low);
      if ((first & low) == 0 && end == ((top << shift) | low)) {
        whole.insert(static_cast<unsigned char>(mark | top));
      } else {
        if (partial.empty() || partial.back().first != top) partial.push_back({top, {}});
        partial.back().second.push_back({first & low, end & low});
      }
      first = end + 1;
    }
  }
  std::vector<std::pair<regex_id, byte_set>> by_rest;
  const auto add = [&](regex_id rest, const byte_set& leads) {
    for (auto& [known, set] : by_rest)
      if (known == rest) {
        set = set | leads;
        return;
      }
    by_rest.push_back({rest, leads});
  };
  if (!whole.empty()) {
    const code_point_range all{0, low};
    add(utf8_sequences({&all, 1}, size - 1, false), whole);
  }
  for (const auto& [top, rest] : partial)
    add(utf8_sequences(rest, size - 1, false), byte_set::of(static_cast<unsigned char>(mark | top)));
  std::vector<regex_id> parts;
  for (const auto& [rest, leads] : by_rest) parts.push_back(make_concat(bytes(leads), rest));
  return make_alternation(parts);
}

regex_id regex_store::code_points(const code_point_set& set) {
  std::u32string key;
  for (const auto& [first, last] : set) key.append({char32_t{first}, char32_t{last}});
  count(set.size() / links_in_a_step);
  const auto known = spelled_.find(key);
  if (known != spelled_.end()) return known->second;
  count(steps_per_range * set.size());
  static constexpr code_point_range sizes[] = {
      {0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xFFFF}, {0x10000, 0x10FFFF}};
  std::vector<regex_id> parts;
  for (int size = 1; size <= 4; ++size) {
    const code_point_range& limits = sizes[size - 1];
    std::vector<code_point_range> ranges;
    for (const auto& [first, last] : set)
      if (first <= limits.last && last >= limits.first)
        ranges.push_back({std::max(first, limits.first), std::min(last, limits.last)});
    if (!ranges.empty()) parts.push_back(utf8_sequences(ranges, size, true));
  }
  const regex_id made = make_alternation(parts);
  if (made == nothing() && !set.empty()) note_left_out(set[0].first);
  if (!failure_) spelled_.emplace(std::move(key), made);
  return made;
}

void regex_store::note_left_out(std::uint32_t code_point) {
  std::string text;
  append_utf8(code_point, text);
  is_spelled(text);
}

regex_id regex_store::any_text() { return star(code_points(all_code_points())); }

regex_id regex_store::make_concat(regex_id first, regex_id rest) {
  if (first == nothing() || rest == nothing()) return nothing();
  if (first == empty()) return rest;
  if (rest == empty()) return first;
  if (first == any_bytes() && rest == any_bytes()) return rest;
  std::vector<regex_id> spine;  // chains lean to the right
  while (kind(first) == regex_kind::concat) {
    spine.push_back(regex_id{node_of(first).a});
    first = regex_id{node_of(first).b};
  }
  spine.push_back(first);
  count(spine.size() / chained_in_a_step);
  for (std::size_t i = spine.size(); i-- > 0;) {
    const node& head = node_of(spine[i]);
    const node& tail = node_of(rest);
    node n{.kind = regex_kind::concat, .a = number(spine[i]), .b = number(rest)};
    n.nullable = head.nullable && tail.nullable;
    n.boolean = head.boolean || tail.boolean;
    n.has_multiple = head.has_multiple || tail.has_multiple;
    n.may_be_nothing = head.may_be_nothing || tail.may_be_nothing;
    n.depth = std::max<std::uint16_t>(static_cast<std::uint16_t>(head.depth + 1), tail.depth);
    rest = intern(n);
    if (rest == nothing()) return rest;
  }
  return rest;
}

regex_id regex_store::concat(std::span<const regex_id> parts) {
  // Neighbours that are literal texts are one text.
  std::vector<regex_id> merged;
  std::string run;
  const auto flush = [&] {
    if (!run.empty()) merged.push_back(literal(run));
    run.clear();
  };
  count(parts.size() / links_in_a_step);
  for (const regex_id part : parts) {
    if (part == nothing()) return part;
    const node& n = node_of(part);
    if (n.kind == regex_kind::literal) {
      count(n.b / text_bytes_in_a_step);
      if (failure_ || !has_room_for_text(run.size() + n.b)) return nothing();
      run.append(text_of({n.a, n.b}));
    } else if (n.kind == regex_kind::bytes && sets_[n.a].size() == 1) {
      sets_[n.a].for_each([&](unsigned char byte) { run.push_back(static_cast<char>(byte)); });
    } else if (n.kind != regex_kind::empty) {
      flush();
      merged.push_back(part);
    }
  }
  flush();
  regex_id rest = empty();
  for (std::size_t i = merged.size(); i-- > 0 && !failure_;) rest = make_concat(merged[i], rest);
  return rest;
}

regex_id regex_store::make_alternation(std::vector<regex_id>& parts) {
  std::vector<regex_id> flat;
  byte_set set;
  bool has_empty = false, nullable = false;
  const auto add = [&](regex_id part) {
    const node& n = node_of(part);
    if (n.kind == regex_kind::bytes) {
      set = set | sets_[n.a];
    } else if (n.kind == regex_kind::empty) {
      has_empty = true;
    } else if (n.kind != regex_kind::nothing) {
      flat.push_back(part);
      nullable = nullable || n.nullable;
    }
  };
  if (parts.size() == 1) return parts[0];
  for (const regex_id part : parts) {
    if (part == any_bytes()) return part;
    if (kind(part) == regex_kind::alternation) {
      const node n = node_of(part);
      for (const regex_id below : links_of(n)) add(below);
    } else {
      add(part);
    }
  }
  if (!set.empty()) flat.push_back(bytes(set));
  if (has_empty && !nullable) flat.push_back(empty());
  count(flat.size() / links_in_a_step);
  std::ranges::sort(flat);
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (flat.empty()) return nothing();
  return flat.size() == 1 ? flat[0] : make_links(regex_kind::alternation, flat);
}

regex_id regex_store::alternation(std::span<const regex_id> parts) {
  std::vector<std::string> texts;
  std::size_t bytes = 0;
  std::vector<regex_id> others;
  for (const regex_id part : parts) {
    const node& n = node_of(part);
    if (n.kind != regex_kind::literal) {
      others.push_back(part);
      continue;
    }
    bytes += n.b;
    count(n.b / text_bytes_in_a_step);
    if (failure_ || !has_room_for_text(bytes)) return nothing();
    texts.emplace_back(text_of({n.a, n.b}));
  }
  if (texts.size() < strings_from) {
    others.assign(parts.begin(), parts.end());
  } else {
    others.push_back(one_of(std::move(texts)));
  }
  return make_alternation(others);
}

regex_id regex_store::make_intersection(std::vector<regex_id>& parts) {
  std::vector<regex_id> flat;
  byte_set set = byte_set::all();
  bool has_set = false, has_empty = false, nullable = true;
  const auto add = [&](regex_id part) {
    const node& n = node_of(part);
    nullable = nullable && n.nullable;
    if (n.kind == regex_kind::bytes) {
      set = set & sets_[n.a];
      has_set = true;
    } else if (n.kind == regex_kind::empty) {
      has_empty = true;
    } else if (part != any_bytes()) {
      flat.push_back(part);
    }
  };
  for (const regex_id part : parts) {
    if (part == nothing()) return part;
    if (kind(part) == regex_kind::intersection) {
      const node n = node_of(part);
      for (const regex_id below : links_of(n)) add(below);
    } else {
      add(part);
    }
  }
  if (has_empty) return nullable ? empty() : nothing();
  if (has_set) {
    if (set.empty()) return nothing();
    flat.push_back(bytes(set));
  }
  count(flat.size() / links_in_a_step);
  std::ranges::sort(flat);
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  for (const regex_id part : flat)
    if (kind(part) == regex_kind::complement && std::ranges::binary_search(flat, regex_id{node_of(part).a}))
      return nothing();
  if (flat.empty()) return any_bytes();
  return flat.size() == 1 ? flat[0] : make_links(regex_kind::intersection, flat);
}

regex_id regex_store::intersection(std::span<const regex_id> parts) {
  std::vector<regex_id> copy(parts.begin(), parts.end());
  return make_intersection(copy);
}

regex_id regex_store::complement(regex_id r) {
  const node& n = node_of(r);
  if (n.kind == regex_kind::complement) return regex_id{n.a};
  if (r == nothing() && !failure_) return any_bytes();
  if (r == any_bytes()) return nothing();
  return intern(node{.kind = regex_kind::complement,
                     .nullable = !n.nullable,
                     .may_be_nothing = true,
                     .boolean = true,
                     .has_multiple = n.has_multiple,
                     .depth = static_cast<std::uint16_t>(n.depth + 1),
                     .a = number(r)});
}

regex_id regex_store::repeat(regex_id r, std::uint32_t min, std::uint32_t max) {
  if (max < min) return nothing();
  if (max == 0 || r == empty()) return empty();
  if (r == nothing()) return min == 0 ? empty() : nothing();
  if (node_of(r).nullable) min = 0;
  if (node_of(r).kind == regex_kind::repeat) {
    // Copies of copies are copies where no count is left out between the least and the most.
    const node& below = node_of(r);
    if (below.b <= 1 && (below.c == unbounded || max == unbounded)) {
      max = unbounded;
      r = regex_id{below.a};
      if (below.b == 0) min = 0;
    } else if (below.b == 0 && below.c == 1) {
      r = regex_id{below.a};
    }
  }
  if (min == 1 && max == 1) return r;
  const node& n = node_of(r);
  return intern(node{.kind = regex_kind::repeat,
                     .nullable = min == 0,
                     .may_be_nothing = min > 0 && n.may_be_nothing,
                     .boolean = n.boolean,
                     .has_multiple = n.has_multiple,
                     .depth = static_cast<std::uint16_t>(n.depth + 1),
                     .a = number(r),
                     .b = min,
                     .c = max});
}

regex_id regex_store::make_multiple(std::uint32_t divisor, std::uint64_t remainder) {
  return intern(node{.kind = regex_kind::multiple,
                     .nullable = remainder == 0,
                     .has_multiple = true,
                     .a = divisor,
                     .b = static_cast<std::uint32_t>(remainder),
                     .c = static_cast<std::uint32_t>(remainder >> 32)});
}

regex_id regex_store::multiple_of(std::uint64_t divisor) {
  if (divisor == 0 || divisor > max_divisor) return nothing();
  for (const char c : std::string_view("0123456789.")) in_text_[static_cast<unsigned char>(c)] = true;
  const auto known = std::ranges::find(divisors_, divisor);
  const auto index = static_cast<std::uint32_t>(known - divisors_.begin());
  if (known == divisors_.end()) divisors_.push_back(divisor);
  return make_multiple(index, 0);
}

regex_id regex_store::non_empty(regex_id r) {
  const node n = node_of(r);
  if (!n.nullable) return r;
  if (n.kind == regex_kind::empty) return nothing();
  if (n.kind == regex_kind::strings) return make_strings(n.a, n.b + 1, n.c, n.d);
  if (n.kind == regex_kind::repeat && !node_of(regex_id{n.a}).nullable)
    return make_concat(regex_id{n.a}, repeat(regex_id{n.a}, 0, n.c == unbounded ? unbounded : n.c - 1));
  if (n.kind == regex_kind::alternation) {
    std::vector<regex_id> parts;
    const std::vector<regex_id> links(links_of(n).begin(), links_of(n).end());
    for (const regex_id part : links)
      if (part != empty()) parts.push_back(part);
    if (std::ranges::none_of(parts, [&](regex_id part) { return is_nullable(part); }))
      return make_alternation(parts);
  }
  return intersection({r, concat({bytes(byte_set::all()), any_bytes()})});
}

}  // namespace troupe::grammar
