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
configure_file(cmake/flashmoe.pc.in flashmoe.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/flashmoe-config.cmake ${PROJECT_BINARY_DIR}/flashmoe-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/flashmoe COMPONENT flashmoe)
install(FILES ${PROJECT_BINARY_DIR}/flashmoe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT flashmoe)
