#include "runtime/openai/models.hpp"

#include "runtime/openai/json_writer.hpp"

namespace troupe::openai {
namespace {

void write_model(json_writer& out, const model_description& model) {
  out.begin_object().key("id").string(model.id).key("object").string("model");
  out.key("created").integer(model.created).key("owned_by").string("troupe").key("root").string(model.id);
  out.key("max_model_len").integer(model.max_model_len).end_object();
}

}  // namespace

std::string model_answer(const model_description& model) {
  std::string body;
  json_writer out(body);
  write_model(out, model);
  return body;
}

std::string model_list_answer(const model_description& model) {
  std::string body;
  json_writer out(body);
  out.begin_object().key("object").string("list").key("data").begin_array();
  write_model(out, model);
  out.end_array().end_object();
  return body;
}

}  // namespace troupe::openai
