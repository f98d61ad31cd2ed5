// Options of the address sanitizer: a request for more memory than this fails, as the core expects of a full machine.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1:max_allocation_size_mb=64"; }
