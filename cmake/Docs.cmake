# SPDX-License-Identifier: MIT
# Documents are tested: code on the pages compiles and runs, commands print what the pages show (scripts/docs).
find_package(Python3 QUIET COMPONENTS Interpreter)
set(DOCS_TOOLS ${PROJECT_SOURCE_DIR}/scripts/docs)

# docs_files(PAGE OUT files...): a command that makes the files that a reader of PAGE has written, in the folder OUT.
function(docs_files page out)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_BINARY_DIR}/${out}/ OUTPUT_VARIABLE files)
  add_custom_command(OUTPUT ${files}
    COMMAND Python3::Interpreter ${DOCS_TOOLS}/write_files ${page} ${PROJECT_SOURCE_DIR}
            ${CMAKE_CURRENT_BINARY_DIR}/${out}
    DEPENDS ${page} ${DOCS_TOOLS}/write_files ${DOCS_TOOLS}/blocks.py VERBATIM)
endfunction()

# docs_follow(NAME PAGE [PROGRAM NAME PATH]...): the commands of PAGE are run, and print what it shows.
function(docs_follow name page)
  list(TRANSFORM ARGN REPLACE "^PROGRAM$" "--program")
  add_test(NAME ${name} COMMAND Python3::Interpreter ${DOCS_TOOLS}/follow ${page}
           --source ${PROJECT_SOURCE_DIR} --build ${PROJECT_BINARY_DIR} --scratch ${CMAKE_CURRENT_BINARY_DIR}/scratch/${name} ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endfunction()
