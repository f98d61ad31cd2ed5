// What the library asks the allocator for, counted and refused where kv_memory_test.cpp stands between them.
#pragma once

#include <cstddef>

namespace ropewalk {

// Bytes of all aligned requests so far; whether they were given back since is not counted.
extern std::size_t requested_bytes;

// Whether requests can be refused: false where the tests are linked without --wrap.
bool can_refuse_memory();

// Requests refused since refuse_request().
extern int refused_requests;

// Refuses the request after the next `granted`, and all after it where `all_later`; grant_requests() ends it.
void refuse_request(int granted, bool all_later);
void grant_requests();

// Does something with a request refused.
template <class Act>
auto without_request(int granted, bool all_later, Act act) {
  refuse_request(granted, all_later);
  const auto result = act();
  grant_requests();
  return result;
}

}  // namespace ropewalk
