# Writes a file for CTest with one test for each suite of a GoogleTest program: cmake -DPROGRAM= -DFILE= -DPROPERTIES= -P.
# A process for each test would spend more time on loading libtorch than on testing.
execute_process(COMMAND "${PROGRAM}" --gtest_list_tests OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY TIMEOUT 120)
string(REGEX MATCHALL "(^|\n)[^ \n]+\\.( +#[^\n]*)?\n" lines "${listed}")
# A log is cut where it is long: what it says of a suite is what has failed. A GPU's suites also say why they skip.
if(NOT PROPERTIES MATCHES "LABELS gpu")
  string(APPEND PROPERTIES " ENVIRONMENT GTEST_BRIEF=1")
endif()
string(APPEND PROPERTIES " PROCESSORS 2")  # a core, as tests/CMakeLists.txt says
set(text "")
foreach(line ${lines})
  string(REGEX REPLACE "^\n?([^ \n]+)\\..*$" "\\1" suite "${line}")
  string(APPEND text "add_test([=[${suite}]=] \"${PROGRAM}\" [=[--gtest_filter=${suite}.*]=])\n"
                     "set_tests_properties([=[${suite}]=] PROPERTIES ${PROPERTIES})\n")
endforeach()
if(text STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} lists no tests")
endif()
file(WRITE "${FILE}" "${text}")
