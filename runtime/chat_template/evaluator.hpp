// Runs a parsed template.
#pragma once
#include <string>
#include <vector>

#include "runtime/chat_template/arguments.hpp"
#include "runtime/chat_template/ast.hpp"
#include "runtime/chat_template/budget.hpp"
#include "runtime/chat_template/scope.hpp"

namespace troupe::jinja {

class evaluator {
 public:
  evaluator(budget& spent, const dict& context) : spent_(spent), scope_(context) {}

  // Appends what the statements print to `out`. Errors go to the budget.
  void run(const block& statements, std::string& out);

 private:
  enum class flow { next, stop_loop, next_round };
  flow execute(const block& statements, std::string& out);
  flow execute_one(const statement& one, std::string& out);
  flow if_else(const statement& one, std::string& out);
  void for_loop(const statement& one, std::string& out);
  flow round(const statement& one, const value& loop, const value& item, std::string& out);
  std::shared_ptr<const list> loop_items(const statement& one);
  void assign(const target& bound, value given);
  void unpack(const target& bound, const value& given);
  void print(std::string_view text, std::string& out);
  std::string capture(const block& statements);

  value evaluate(const expression& node);
  value display(const expression& node);
  value conditional(const expression& node);
  value logical(const expression& node);
  value sign(const expression& node);
  value chain(const expression& node);
  value comparison(const expression& node);
  value postfix(const expression& node);
  value name(const std::string& name);
  value step(const value& over, const expression::step& one);
  value slice_of(const value& over, const expression::step& one);
  arguments evaluate_arguments(const std::vector<argument>& given);
  value call(const value& called, const arguments& given);
  value call_macro(const macro& called, const arguments& given);
  value call_function(function called, const arguments& given);
  value range(const arguments& given);

  budget& spent_;
  scope scope_;
};

}  // namespace troupe::jinja
