// Shared by the bindings: addresses as numbers, and the structs that pass tensors and positions.
#pragma once

#include <emscripten/bind.h>

#include <type_traits>

#include "rope/rope.h"

namespace ropewalk::bindings {

using Address = std::uintptr_t;

template <class T>
T* at(Address address) {
  return reinterpret_cast<T*>(address);
}

// A Status, as JavaScript gets it.
using StatusCode = int;

// JavaScript gives every field a value, so they have no initializers, which would be code.
#define ROPEWALK_STRUCT(name) struct name {
#define ROPEWALK_FIELD(type, member, initial) type member;
#define ROPEWALK_END \
  }                  \
  ;
#include "bindings/call_fields.def"

inline Positions positions_of(const PositionFields& p) { return {p.offset, at<double>(p.ids), p.axes, p.rows, p.tokens}; }

inline HeadTensor tensor_of(const TensorFields& t) {
  return {at<void>(t.source),
          at<void>(t.target),
          static_cast<DType>(t.dtype),
          static_cast<Layout>(t.layout),
          {t.batches, t.tokens, t.heads, t.head_dim}};
}

template <auto Member, class Struct>
int get_number(const Struct& object) {
  return static_cast<int>(object.*Member);
}
template <auto Member, class Struct>
void set_number(Struct& object, int value) {
  object.*Member = static_cast<std::remove_reference_t<decltype(object.*Member)>>(value);
}

// JavaScript passes enumerators as numbers. Inlined, because a function for each member is more code than Embind's for each type.
template <auto Member, class Struct>
[[gnu::always_inline]] inline void bind_field(emscripten::value_object<Struct>& object, const char* name) {
  if constexpr (std::is_enum_v<std::remove_reference_t<decltype(std::declval<Struct&>().*Member)>>)
    object.field(name, &get_number<Member, Struct>, &set_number<Member, Struct>);
  else
    object.field(name, Member);
}

}  // namespace ropewalk::bindings
