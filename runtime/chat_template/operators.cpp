#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/chat_template/characters.hpp"
#include "runtime/chat_template/operations.hpp"
#include "runtime/chat_template/percent_format.hpp"
#include "runtime/chat_template/searching.hpp"

namespace troupe::jinja {
namespace {

using op = expression::op;

constexpr const char* names[] = {"+", "-", "*", "/", "//", "%", "**", "~"};

value type_error(budget& spent, op what, const value& left, const value& right) {
  return spent.fail(fmt::format("unsupported operand types for {}: '{}' and '{}'",
                                names[static_cast<std::size_t>(what)], left.type_name(), right.type_name()));
}

bool is_tuple(const value& given) {
  const auto* sequence = given.get<value::sequence>();
  return sequence && sequence->tuple;
}

value real(double number) { return value(value::variant(number)); }

value whole_arithmetic(budget& spent, op what, std::int64_t left, std::int64_t right) {
  std::int64_t out = 0;
  bool overflow = false;
  switch (what) {
    case op::add:
      overflow = __builtin_add_overflow(left, right, &out);
      break;
    case op::subtract:
      overflow = __builtin_sub_overflow(left, right, &out);
      break;
    case op::multiply:
      overflow = __builtin_mul_overflow(left, right, &out);
      break;
    case op::power:
      if (right < 0) return left == 0 ? spent.fail("division by zero") : real(std::pow(left, right));
      out = 1;
      for (std::int64_t factor = left; right > 0 && !overflow; right /= 2) {
        if (right % 2 == 1) overflow = __builtin_mul_overflow(out, factor, &out);
        if (right > 1) overflow |= __builtin_mul_overflow(factor, factor, &factor);
      }
      break;
    default:
      if (right == 0) return spent.fail("division by zero");
      if (right == -1) {
        if (what == op::modulo) return value::of(std::int64_t{0});
        overflow = __builtin_sub_overflow(std::int64_t{0}, left, &out);
        break;
      }
      const bool rounds_up =
          left % right != 0 && (left < 0) != (right < 0);  // C++ rounds to zero, Python down
      if (what == op::modulo) return value::of(left % right + (rounds_up ? right : 0));
      out = left / right - (rounds_up ? 1 : 0);
  }
  return overflow ? spent.fail("a number gets too large") : value::of(out);
}

value real_arithmetic(budget& spent, op what, double left, double right) {
  const bool divides = what == op::divide || what == op::floor_divide || what == op::modulo;
  if (divides && right == 0) return spent.fail("division by zero");
  switch (what) {
    case op::add:
      return real(left + right);
    case op::subtract:
      return real(left - right);
    case op::multiply:
      return real(left * right);
    case op::divide:
      return real(left / right);
    case op::floor_divide:
      return real(std::floor(left / right));
    case op::modulo: {
      const double rest = std::fmod(left, right);
      return real(rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest);
    }
    default:
      return real(std::pow(left, right));
  }
}

value repeat(budget& spent, const std::string& text, std::int64_t times) {
  if (times <= 0 || text.empty()) return value::of(std::string());
  if (static_cast<std::uint64_t>(times) > spent.longest() / text.size())
    return spent.fail("the text gets too long");
  const auto count = static_cast<std::size_t>(times);
  if (!spent.spend(text.size() * count)) return {};
  std::string out;
  out.reserve(text.size() * count);
  for (std::size_t done = 0; done < count; ++done) out += text;
  return value::of(std::move(out));
}

// Whether there is room for a list of so many items.
bool check_items(budget& spent, std::size_t count) {
  return spent.check_length(count * sizeof(value)) && spent.spend(16 * count);
}

value repeat(budget& spent, const value& items, std::int64_t times) {
  const auto size = items.size();
  const auto count = times <= 0 || size == 0 ? 0 : static_cast<std::size_t>(times);
  if (count > spent.longest() || !check_items(spent, size * count))
    return spent.fail("the list gets too long");
  list out;
  for (std::size_t done = 0; done < count; ++done)
    out.insert(out.end(), items.items()->begin(), items.items()->end());
  return contain(spent, std::move(out), items.get<value::sequence>()->tuple);
}

value concatenate(budget& spent, const std::string& left, const std::string& right) {
  const auto size = left.size() + right.size();
  if (!spent.check_length(size) || !spent.spend(size)) return {};
  return value::of(left + right);
}

value add(budget& spent, const value& left, const value& right) {
  if (left.string() && right.string()) return concatenate(spent, *left.string(), *right.string());
  const bool lists = left.items() && right.items();
  if (!lists || is_tuple(left) != is_tuple(right)) return type_error(spent, op::add, left, right);
  if (!spent.check_length((left.size() + right.size()) * sizeof(value))) return {};
  auto items = *left.items();
  items.insert(items.end(), right.items()->begin(), right.items()->end());
  return contain(spent, std::move(items), is_tuple(left));
}

value arithmetic(budget& spent, op what, const value& left, const value& right) {
  const auto a = left.integer();
  const auto b = right.integer();
  if (left.is_number() && right.is_number() && (left.get<large_integer>() || right.get<large_integer>()))
    return spent.fail("a number gets too large");
  if (a && b && what != op::divide) return whole_arithmetic(spent, what, *a, *b);
  if (left.is_number() && right.is_number())
    return real_arithmetic(spent, what, *left.number(), *right.number());
  if (what == op::add) return add(spent, left, right);
  if (what == op::modulo && left.string()) return percent_format(spent, *left.string(), right);
  if (what == op::multiply && left.items() && b) return repeat(spent, left, *b);
  if (what == op::multiply && right.items() && a) return repeat(spent, right, *a);
  if (what == op::multiply && left.string() && b) return repeat(spent, *left.string(), *b);
  if (what == op::multiply && right.string() && a) return repeat(spent, *right.string(), *a);
  return type_error(spent, what, left, right);
}

// The order of two whole numbers, one of which 64 bits do not hold; nothing for other values.
std::optional<int> compare_large(const value& left, const value& right) {
  const auto* a = left.get<large_integer>();
  const auto* b = right.get<large_integer>();
  if (!(a && (b || right.integer())) && !(b && left.integer())) return std::nullopt;
  const auto sign = [](const large_integer& number) { return number.digits->starts_with('-') ? -1 : 1; };
  if (!a || !b) return a ? sign(*a) : -sign(*b);
  if (sign(*a) != sign(*b)) return sign(*a);
  const auto size = a->digits->size(), other = b->digits->size();
  const int order = size != other ? (size < other ? -1 : 1) : a->digits->compare(*b->digits);
  return sign(*a) * (order > 0 ? 1 : order < 0 ? -1 : 0);
}

// As compare(), but for what it makes of values that it could not look at to the end.
int order_of(budget& spent, const value& left, const value& right) {
  if (const auto order = compare_large(left, right)) return *order;
  if (left.is_number() && right.is_number()) {
    const auto a = left.integer();
    const auto b = right.integer();
    if (a && b) return *a < *b ? -1 : *a > *b;
    return *left.number() < *right.number() ? -1 : *left.number() > *right.number();
  }
  if (left.string() && right.string()) {
    spent.spend(std::min(left.size(), right.size()));
    return left.string()->compare(*right.string());
  }
  if (left.items() && right.items() && is_tuple(left) == is_tuple(right)) {
    const auto common = std::min(left.size(), right.size());
    for (std::size_t at = 0; at < common && spent.spend(); ++at) {
      if (equal(spent, (*left.items())[at], (*right.items())[at])) continue;
      return order_of(spent, (*left.items())[at], (*right.items())[at]);
    }
    return left.size() < right.size() ? -1 : left.size() > right.size();
  }
  spent.fail(fmt::format("'{}' and '{}' have no order", left.type_name(), right.type_name()));
  return 0;
}

bool equal_items(budget& spent, const list& left, const list& right) {
  if (left.size() != right.size()) return false;
  for (std::size_t at = 0; at < left.size() && spent.spend(); ++at) {
    if (!equal(spent, left[at], right[at])) return false;
  }
  return true;
}

bool equal_entries(budget& spent, const dict& left, const dict& right) {
  if (left.entries().size() != right.entries().size()) return false;
  for (const auto& [key, item] : left.entries()) {
    const auto* other = right.find(key);
    if (!spent.spend() || !other || !equal(spent, item, *other)) return false;
  }
  return true;
}

}  // namespace

value apply(budget& spent, op what, const value& left, const value& right) {
  if (!spent.spend()) return {};
  switch (what) {
    case op::equal:
      return value::truth(equal(spent, left, right));
    case op::not_equal:
      return value::truth(!equal(spent, left, right));
    case op::less:
      return value::truth(compare(spent, left, right) < 0);
    case op::less_equal:
      return value::truth(compare(spent, left, right) <= 0);
    case op::greater:
      return value::truth(compare(spent, left, right) > 0);
    case op::greater_equal:
      return value::truth(compare(spent, left, right) >= 0);
    case op::in:
      return value::truth(contains(spent, right, left));
    case op::not_in:
      return value::truth(!contains(spent, right, left));
    case op::join:
      return concatenate(spent, to_text(spent, left), to_text(spent, right));
    default:
      return arithmetic(spent, what, left, right);
  }
}

bool equal(budget& spent, const value& left, const value& right) {
  if (const auto order = compare_large(left, right)) return *order == 0;
  if (left.is_number() && right.is_number()) {
    const auto a = left.integer();
    const auto b = right.integer();
    return a && b ? *a == *b : *left.number() == *right.number();
  }
  if (left.string() && right.string()) {
    return spent.spend(std::min(left.size(), right.size())) && *left.string() == *right.string();
  }
  if (left.items() && right.items() && is_tuple(left) == is_tuple(right))
    return equal_items(spent, *left.items(), *right.items());
  if (left.entries() && right.entries()) return equal_entries(spent, *left.entries(), *right.entries());
  if (const auto* space = left.get<name_space*>())
    return right.get<name_space*>() && *space == *right.get<name_space*>();
  return (left.is_none() && right.is_none()) || (left.is_undefined() && right.is_undefined());
}

int compare(budget& spent, const value& left, const value& right) {
  const int order = order_of(spent, left, right);
  return spent.failed() ? 0 : order;
}

bool keys_have_order(budget& spent, const dict& entries) {
  for (const auto& [key, item] : entries.entries())
    if (key.index() != entries.entries().front().first.index())
      return spent.fail("'str' and 'int' have no order"), false;
  return true;
}

bool contains(budget& spent, const value& container, const value& item) {
  if (const auto* text = container.string()) {
    if (!item.string()) return spent.fail(fmt::format("a string cannot hold '{}'", item.type_name())), false;
    return spent.spend(text->size()) && find_first(*text, *item.string()) != std::string::npos;
  }
  if (const auto* entries = container.entries()) {
    if (!spent.spend(item.string() ? item.size() : 0)) return false;
    const auto key = key_of(item);
    return key && entries->find(*key) != nullptr;
  }
  if (const auto* items = container.items()) {
    for (const auto& one : *items) {
      if (!spent.spend()) return false;
      if (equal(spent, one, item)) return true;
    }
    return false;
  }
  if (!container.is_undefined()) spent.fail(fmt::format("'{}' holds no items", container.type_name()));
  return false;
}

}  // namespace troupe::jinja
