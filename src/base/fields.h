// Declares the structs of a list of fields (.def): include this, then the list. The bindings make objects of the same lists.
#define ROPEWALK_STRUCT(name) struct name {
#define ROPEWALK_FIELD(type, member, initial) type member = initial;
#define ROPEWALK_DERIVED(type, member, initial) type member = initial;
#define ROPEWALK_LIST(member) std::span<const double> member;
#define ROPEWALK_END \
  }                  \
  ;
