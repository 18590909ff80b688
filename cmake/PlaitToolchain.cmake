# Compiler, linker and cache settings shared by every target.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(PLAIT_CCACHE ccache)
if(PLAIT_CCACHE)
  # The sloppiness settings let ccache see through the precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${PLAIT_CCACHE})
endif()
find_program(PLAIT_MOLD mold)
if(PLAIT_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# -Wrestrict: g++ 12 reports false positives on std::string concatenation.
add_compile_options(-Wall -Wextra -Wno-unused-parameter $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(PLAIT_SANITIZE)
  add_compile_options(-fsanitize=${PLAIT_SANITIZE} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${PLAIT_SANITIZE})
endif()
# Headers are included from the repository root ("runtime/plan/Layout.h"); generated ones from the build tree.
include_directories(${CMAKE_SOURCE_DIR})
include_directories(SYSTEM ${CMAKE_BINARY_DIR})
