# SPDX-License-Identifier: MIT
# What a user of the library gets: the shared library, the headers, find_package(flashmoe) and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS flashmoe EXPORT flashmoe-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT flashmoe)
install(DIRECTORY include/flashmoe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT flashmoe)
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
