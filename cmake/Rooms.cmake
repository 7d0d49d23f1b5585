# temper_room(TARGET [TORCH] [UNITY] FOLDERS FOLDER… [WITHOUT SOURCE…] [SOURCES SOURCE…] [LINKS LIBRARY…] [USES LIBRARY…])
#
# The library of a room: the sources of its folders but WITHOUT, and SOURCES beside them. All that links the room gets LINKS;
# the room alone compiles with USES. TORCH: it sees libtorch and takes the precompiled header. UNITY: its sources are compiled in
# batches (temper_unity).
function(temper_room target)
  cmake_parse_arguments(PARSE_ARGV 1 room "TORCH;UNITY" "" "FOLDERS;WITHOUT;SOURCES;LINKS;USES")
  set(sources "")
  foreach(folder ${room_FOLDERS})
    file(GLOB found RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "${folder}/*.cc")
    list(APPEND sources ${found})
  endforeach()
  list(REMOVE_ITEM sources "" ${room_WITHOUT})
  add_library(${target} STATIC ${sources} ${room_SOURCES})
  target_link_libraries(${target} PRIVATE ${room_USES} PUBLIC temper_base ${room_LINKS})
  if(room_TORCH)
    target_link_libraries(${target} PUBLIC torch)
    target_precompile_headers(${target} REUSE_FROM temper_pch)
  endif()
  if(room_UNITY)
    temper_unity(${target})
  endif()
endfunction()

# temper_rooms(TARGET ROOM…): what links TARGET links all the rooms. They call each other in circles, so the linker looks into them
# until it finds nothing more.
function(temper_rooms target)
  add_library(${target} INTERFACE)
  list(JOIN ARGN "," rooms)
  target_link_libraries(${target} INTERFACE "$<LINK_GROUP:RESCAN,${rooms}>")
endfunction()
