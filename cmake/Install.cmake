# SPDX-License-Identifier: MIT
# What a user of the library gets: the shared library, the headers, find_package(flashmoe) and pkg-config.
include(CMakePackageConfigHelpers)

target_link_options(flashmoe PRIVATE "LINKER:--version-script=${CMAKE_CURRENT_LIST_DIR}/flashmoe.map")
set_target_properties(flashmoe PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/flashmoe.map)

if(TARGET hwy::hwy)
  # Highway's shared library, where it is linked, comes along in a folder of ours: the installation runs where Highway is
  # not installed, and no other program finds this copy.
  get_target_property(hwy_type hwy::hwy TYPE)
  if(hwy_type STREQUAL "SHARED_LIBRARY" AND NOT FLASHMOE_HWY_STATIC)
    set_target_properties(flashmoe PROPERTIES INSTALL_RPATH "$ORIGIN/flashmoe")
    install(FILES $<TARGET_FILE:hwy::hwy> RENAME $<TARGET_SONAME_FILE_NAME:hwy::hwy>
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/flashmoe COMPONENT flashmoe)
  endif()
  # Who passes Highway's code on passes its terms on.
  find_file(FLASHMOE_HWY_COPYRIGHT NAMES copyright LICENSE NO_DEFAULT_PATH
            PATHS /usr/share/doc/libhwy1 /usr/share/doc/libhwy-dev /usr/share/licenses/highway)
  find_file(FLASHMOE_HWY_LICENSE Apache-2.0 PATHS /usr/share/common-licenses NO_DEFAULT_PATH)
  mark_as_advanced(FLASHMOE_HWY_COPYRIGHT FLASHMOE_HWY_LICENSE)
  foreach(terms IN ITEMS ${FLASHMOE_HWY_COPYRIGHT} ${FLASHMOE_HWY_LICENSE})
    if(terms)  # found
      install(FILES ${terms} DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/flashmoe/highway COMPONENT flashmoe)
      install(FILES ${terms} DESTINATION flashmoe_science/licenses/highway COMPONENT python EXCLUDE_FROM_ALL)
    endif()
  endforeach()
endif()

install(TARGETS flashmoe EXPORT flashmoe-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT flashmoe)
install(DIRECTORY flashmoe/include/flashmoe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT flashmoe)
install(EXPORT flashmoe-targets NAMESPACE flashmoe:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/flashmoe
        COMPONENT flashmoe)
configure_package_config_file(cmake/flashmoe-config.cmake.in flashmoe-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/flashmoe)
write_basic_package_version_file(flashmoe-config-version.cmake COMPATIBILITY SameMinorVersion)

# pkg-config finds the prefix from where its own file lies, so that an installation can be moved.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  set(pc_prefix "\${pcfiledir}/${to_prefix}")
  string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
endif()
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE pc_libdir)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE pc_includedir)
configure_file(cmake/flashmoe.pc.in flashmoe.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/flashmoe-config.cmake ${PROJECT_BINARY_DIR}/flashmoe-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/flashmoe COMPONENT flashmoe)
install(FILES ${PROJECT_BINARY_DIR}/flashmoe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT flashmoe)
