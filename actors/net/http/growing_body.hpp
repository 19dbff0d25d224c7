// A body for Beast's parser that takes memory as bytes arrive. Beast's own string_body reserves what the peer
// announces, which the peer need never send.
#pragma once
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional/optional.hpp>
#include <cstdint>
#include <string>

namespace troupe::net {

// The interface is Beast's BodyReader:
// boost.org/doc/libs/1_81_0/libs/beast/doc/html/beast/concepts/BodyReader
struct growing_body {
  using value_type = std::string;

  class reader {
   public:
    template <bool is_request, class Fields>
    reader(boost::beast::http::header<is_request, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<std::uint64_t>&, boost::beast::error_code& failure) { failure = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::beast::error_code& failure) {
      const std::size_t before = body_.size();
      for (const auto buffer : boost::beast::buffers_range_ref(buffers))
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
      failure = {};
      return body_.size() - before;
    }
    void finish(boost::beast::error_code& failure) { failure = {}; }

   private:
    value_type& body_;
  };
};

}  // namespace troupe::net
