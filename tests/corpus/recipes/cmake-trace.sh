# tool: cmake --trace-expand
# how: the trace of a configuration that stops in a function of the project
# decisive: unknown backend 'sqlite4', expected one of: sqlite3 lmdb
prepare() {
cat > CMakeLists.txt <<'X'
cmake_minimum_required(VERSION 3.20)
project(store C CXX)
include(CheckIncludeFile)
include(CheckSymbolExists)
set(BACKEND sqlite4 CACHE STRING "")
foreach(n RANGE 4000)
  list(APPEND sources part${n}.c)
  string(SHA1 sum "part${n}")
  set_property(GLOBAL PROPERTY sum_of_part_${n} "${sum}")
endforeach()
function(choose name)
  set(known sqlite3 lmdb)
  if(NOT name IN_LIST known)
    list(JOIN known " " said)
    message(SEND_ERROR "unknown backend '${name}', expected one of: ${said}")
  endif()
endfunction()
choose(${BACKEND})
foreach(n RANGE 6000)
  string(LENGTH "part${n}" length)
  math(EXPR total "${length} + ${n}")
endforeach()
check_include_file(stdio.h HAVE_STDIO)
X
}
run() { cmake --trace-expand -B build; }
