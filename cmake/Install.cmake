# cmake --install puts programs into libexec/temper, where they find each other, and into bin a link to the one that people
# call; configs and tasks lie in share/temper. The torch wheel is looked for in wheels/ beside those three folders, where
# pip install --target puts it, and then where the build has found it.
#
# cmake --install BUILD --component libraries adds the distribution's libraries to libexec/temper/lib, for the archive that
# tools/package makes. Those of glibc and gcc stay the system's.

set(TEMPER_INSTALL_WHEELS "${TEMPER_WHEELS}" CACHE STRING "folder of wheels that installed programs look into last")

# Where a Python without torch is shown that of those wheels.
set_source_files_properties(env/plan/triton/python.cc TARGET_DIRECTORY temper_env_plan PROPERTIES
                            COMPILE_DEFINITIONS "TEMPER_INSTALL_WHEELS=\"${TEMPER_INSTALL_WHEELS}\"")

set(programs temper temper-broker temper-runner temper-oracle temper-admission)
foreach(program temper-recorder temper-gpu-runner temper-gpu-oracle)
  if(TARGET ${program})
    list(APPEND programs ${program})
  endif()
endforeach()

set(wheel_libraries torch/lib nvidia/cu13/lib nvidia/cudnn/lib nvidia/nccl/lib)
set(rpath "$ORIGIN/lib")
foreach(wheels "$ORIGIN/../../wheels" ${TEMPER_INSTALL_WHEELS})
  list(TRANSFORM wheel_libraries PREPEND "${wheels}/" OUTPUT_VARIABLE places)
  list(APPEND rpath ${places})
endforeach()
set_target_properties(${programs} PROPERTIES INSTALL_RPATH "${rpath}")
# What stands beside candidates sees nothing of the wheels.
set_target_properties(temper-runner PROPERTIES INSTALL_RPATH "$ORIGIN/lib")
if(TARGET temper-recorder)
  set_target_properties(temper-recorder PROPERTIES INSTALL_RPATH "$ORIGIN/lib")
endif()

install(TARGETS ${programs} RUNTIME_DEPENDENCY_SET temper_libraries RUNTIME DESTINATION libexec/temper)
# Where the dynamic loader looks for the one that the processor knows.
set(ops libexec/temper/lib)
install(TARGETS temper_ops LIBRARY DESTINATION ${ops})
set_target_properties(temper-lock-up PROPERTIES INSTALL_RPATH "$ORIGIN/lib")
install(TARGETS temper-lock-up temper-segments LIBRARY DESTINATION libexec/temper)
foreach(version v3 v4)
  install(TARGETS temper_ops_${version} LIBRARY DESTINATION ${ops}/glibc-hwcaps/x86-64-${version})
endforeach()
if(TARGET temper-mpi) # over the system's MPI, which mpirun is part of
  set_target_properties(temper-mpi PROPERTIES INSTALL_RPATH "$ORIGIN/lib")
  install(TARGETS temper-mpi LIBRARY DESTINATION libexec/temper)
endif()
install(CODE [=[
  file(MAKE_DIRECTORY "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin")
  file(CREATE_LINK ../libexec/temper/temper "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/temper" SYMBOLIC)
]=])
install(DIRECTORY configs DESTINATION share/temper)
install(DIRECTORY env/tasks DESTINATION share/temper/env)
install(FILES README.md DESTINATION share/temper)
install(DIRECTORY docs DESTINATION share/temper)
install(FILES LICENSE DESTINATION share/temper OPTIONAL)

install(RUNTIME_DEPENDENCY_SET temper_libraries COMPONENT libraries EXCLUDE_FROM_ALL
        PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|util|gcc_s|stdc\\+\\+|gomp)\\.so" "^lib(temper|torch|c10|cu|nv|nccl)"
        LIBRARY DESTINATION libexec/temper/lib)
