# temper_suites(TARGET [PROPERTY VALUE…]): each suite of a GoogleTest program becomes a test of CTest when the program is built.
# Until then one test fails and says so.
function(temper_suites target)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake")
  list(JOIN ARGN " " properties)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS "${file}"
    COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:${target}>" "-DFILE=${file}" "-DPROPERTIES=${properties}"
            -P "${PROJECT_SOURCE_DIR}/cmake/list_suites.cmake" VERBATIM)
  set(include "${CMAKE_CURRENT_BINARY_DIR}/${target}_tests.cmake")
  file(WRITE "${include}" "if(EXISTS [=[${file}]=])\n  include([=[${file}]=])\nelse()\n"
       "  add_test(${target}_IS_NOT_BUILT sh -c [=[echo '${target} is not built: tools/test builds and runs all tests'; exit 1]=])\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${include}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/list_suites.cmake")
endfunction()
