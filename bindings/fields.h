// Makes an Embind object of each struct of a list of fields (.def): include this, then the list, inside EMSCRIPTEN_BINDINGS.
#define ROPEWALK_STRUCT(name) \
  {                           \
    using Struct = name;      \
    emscripten::value_object<Struct> object(#name);
#define ROPEWALK_FIELD(type, member, initial) ropewalk::bindings::bind_field<&Struct::member>(object, #member);
#define ROPEWALK_DERIVED(type, member, initial)
#define ROPEWALK_LIST(member) ropewalk::bindings::bind_field<&Struct::member>(object, #member);
#define ROPEWALK_END }
