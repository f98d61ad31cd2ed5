// Ends what base/fields.h began.
#undef ROPEWALK_STRUCT
#undef ROPEWALK_FIELD
#undef ROPEWALK_DERIVED
#undef ROPEWALK_LIST
#undef ROPEWALK_END
