// Runs a parsed template.
#pragma once
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "runtime/chat_template/arguments.hpp"
#include "runtime/chat_template/ast.hpp"
#include "runtime/chat_template/budget.hpp"
#include "runtime/chat_template/objects.hpp"
#include "runtime/chat_template/scope.hpp"

namespace troupe::jinja {

class evaluator {
 public:
  // Without `now` there is no strftime_now().
  evaluator(budget& spent, const dict& context, const std::optional<std::tm>& now)
      : spent_(spent), scope_(context), now_(now) {}

  // Appends what the statements print to `out`. Errors go to the budget.
  void run(const block& statements, std::string& out);

 private:
  enum class flow { next, stop_loop, next_round };
  flow execute(const block& statements, std::string& out);
  flow execute_one(const statement& one, std::string& out);
  flow if_else(const statement& one, std::string& out);
  flow for_loop(const statement& one, std::string& out);
  flow round(const statement& one, const value& loop, const value& item, std::string& out);
  std::shared_ptr<const list> loop_items(const statement& one);
  void call_block(const statement& one, std::string& out);
  value closed_over(const macro& defined);
  flow with_block(const statement& one, std::string& out);
  void assign(const target& bound, value given);
  void unpack(const target& bound, const value& given);
  void print(std::string_view text, std::string& out);
  std::string capture(const block& statements);
  value filtered(const statement& one);

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
  void add_named(const value& mapping, arguments& made);
  arguments evaluate_arguments(const std::vector<argument>& given);
  value call(const value& called, const arguments& given);
  value call_macro(const closure& called, const arguments& given);
  bool accepts(const macro& called, const arguments& given);
  void set_others(const macro& called, const arguments& given);
  value call_function(function called, arguments given);
  value make_namespace(const arguments& given);
  value make_cycler(arguments given);
  value make_dict(const arguments& given);
  std::vector<dict::entry> entries_of(const value& given);
  value range(const arguments& given);

  budget& spent_;
  objects made_;
  scope scope_;
  std::optional<std::tm> now_;
};

}  // namespace troupe::jinja
