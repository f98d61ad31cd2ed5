include("${CMAKE_CURRENT_LIST_DIR}/ropewalk-targets.cmake")
