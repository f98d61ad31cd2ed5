// Ends what base/fields.h, bindings/fields.h or another reader of a list of fields began.
#undef ROPEWALK_SCALING_TYPE
#undef ROPEWALK_KEYS
#undef ROPEWALK_STRUCT
#undef ROPEWALK_FIELD
#undef ROPEWALK_NUMBER
#undef ROPEWALK_LENGTH
#undef ROPEWALK_DERIVED
#undef ROPEWALK_LIST
#undef ROPEWALK_END
