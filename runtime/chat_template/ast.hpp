// A parsed template. Chains (a + b + c, a.b.c|f, if/elif) are flat, so that only real nesting makes the tree
// deep.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/chat_template/value.hpp"

namespace troupe::jinja {

struct expression;
using expression_ptr = std::unique_ptr<const expression>;

struct argument {
  enum class kind { one, list, mapping };  // x, *x, **x
  std::string name;                        // empty: positional
  expression_ptr given;
  kind what = kind::one;
};

struct expression {
  enum class kind {
    literal,
    name,
    list_display,   // operands
    tuple_display,  // operands
    dict_display,   // operands: key, value, key, value, ...
    conditional,    // operands: value, condition, otherwise (may be missing)
    logical_or,     // operands
    logical_and,    // operands
    logical_not,    // operand
    negative,       // operand
    positive,       // operand
    chain,          // operands joined by operators, from left to right
    comparison,     // the same, in Python's way: a < b < c
    postfix,        // operand, then steps
  };
  enum class op {
    add,
    subtract,
    multiply,
    divide,
    floor_divide,
    modulo,
    power,
    join,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    in,
    not_in
  };
  struct step {
    enum class kind { attribute, subscript, slice, call, filter, test, not_test };
    kind what = kind::attribute;
    std::string name;                    // attribute, filter, test
    std::vector<argument> arguments;     // call, filter, test
    expression_ptr index, stop, stride;  // subscript; slice: each may be missing
  };

  kind what = kind::literal;
  std::uint32_t line = 0;
  value constant;
  std::string name;
  std::vector<expression_ptr> operands;
  std::vector<op> operators;  // [operands - 1]
  std::vector<step> steps;
};

struct statement;
using block = std::vector<statement>;

// What a value is bound to: a name, an attribute of a namespace, or the parts that it is unpacked into.
struct target {
  std::string name;
  std::string attribute;  // empty: the name itself
  bool unpack = false;
  std::vector<target> parts;
};

struct macro {
  struct parameter {
    std::string name;
    expression_ptr preset;  // may be missing
  };
  std::string name;
  std::vector<parameter> parameters;
  std::shared_ptr<const block> body;
  // Whether the body speaks of what Jinja then lets it be called with beside the parameters.
  bool has_parameter(std::string_view called) const {
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const parameter& each) { return each.name == called; });
  }
  bool takes_caller = false;
  bool takes_more = false;   // varargs
  bool takes_named = false;  // kwargs
};

// The variable that the body of {% call %} is handed over in; no template can name it.
inline constexpr const char* caller_variable = "caller()";

struct statement {
  enum class kind {
    text,
    output,
    if_else,
    for_loop,
    set,
    set_block,
    macro_definition,
    call_block,
    filter_block,
    with_block,
    group,
    break_loop,
    continue_loop
  };
  kind what = kind::text;
  std::uint32_t line = 0;
  std::string text;
  target bound;                                             // for_loop, set, set_block
  std::vector<std::pair<target, expression_ptr>> bindings;  // with_block
  expression_ptr given;                                     // output, set, call_block, for_loop's iterable
  expression_ptr condition;                                 // for_loop's filter
  std::vector<std::pair<expression_ptr, block>> branches;   // if_else: a missing condition is else
  block body;                             // for_loop, set_block, filter_block, with_block, group
  block otherwise;                        // for_loop's else
  std::vector<expression::step> filters;  // set_block, filter_block
  std::shared_ptr<const macro> defined;   // macro_definition, call_block: its body
};

}  // namespace troupe::jinja
