// Gives each macro of a list of fields (.def) that its reader hasn't defined a meaning: none, or that of a plain field.
#ifndef ROPEWALK_SCALING_TYPE
#define ROPEWALK_SCALING_TYPE(name, systems, needed, optional, traits)
#endif
#ifndef ROPEWALK_KEYS
#define ROPEWALK_KEYS(name, keys)
#endif
#ifndef ROPEWALK_STRUCT
#define ROPEWALK_STRUCT(name)
#endif
#ifndef ROPEWALK_FIELD
#define ROPEWALK_FIELD(type, member, initial)
#endif
#ifndef ROPEWALK_NUMBER
#define ROPEWALK_NUMBER(member, lowest, highest, status) ROPEWALK_FIELD(std::optional<double>, member, {})
#endif
#ifndef ROPEWALK_LENGTH
#define ROPEWALK_LENGTH(member, status) ROPEWALK_FIELD(std::optional<double>, member, {})
#endif
#ifndef ROPEWALK_LIST
#define ROPEWALK_LIST(member)
#endif
#ifndef ROPEWALK_END
#define ROPEWALK_END
#endif
