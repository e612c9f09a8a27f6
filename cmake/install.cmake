# SPDX-License-Identifier: Apache-2.0
# What is installed beside the programs and libraries: headers, pkg-config, a CMake package, the
# shells' completions, documents. tests/integration/installed tries it all.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/kymo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

file(RELATIVE_PATH KYMO_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(name kymo kymo-profile)
    configure_file(${CMAKE_SOURCE_DIR}/cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

set(kymo_package ${CMAKE_INSTALL_LIBDIR}/cmake/kymo)
add_library(kymo-marker INTERFACE)
foreach(target kymo-marker kymo-library kymo-profile)
    target_include_directories(${target} INTERFACE
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
set_target_properties(kymo-marker PROPERTIES EXPORT_NAME marker)
set_target_properties(kymo-library PROPERTIES EXPORT_NAME kymo)
set_target_properties(kymo-profile PROPERTIES EXPORT_NAME profile)
install(TARGETS kymo-marker EXPORT kymo-targets)
install(TARGETS kymo-library kymo-profile EXPORT kymo-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT kymo-targets NAMESPACE kymo:: DESTINATION ${kymo_package})
configure_file(${CMAKE_SOURCE_DIR}/cmake/kymo-config.cmake.in ${CMAKE_BINARY_DIR}/kymo-config.cmake
    @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/kymo-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/kymo-config.cmake ${CMAKE_BINARY_DIR}/kymo-config-version.cmake
    DESTINATION ${kymo_package})

# The documents keep their places to each other, so that their links work.
file(GLOB kymo_documents CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/doc/*.md ${CMAKE_SOURCE_DIR}/doc/*.png)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/LICENSE
    ${CMAKE_SOURCE_DIR}/CONTRIBUTING.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${kymo_documents} DESTINATION ${CMAKE_INSTALL_DOCDIR}/doc)
install(FILES ${CMAKE_SOURCE_DIR}/bench/RESULTS.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
file(GLOB kymo_examples CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*.c
    ${CMAKE_SOURCE_DIR}/examples/*.h ${CMAKE_SOURCE_DIR}/examples/*.sql)
install(FILES ${kymo_examples} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES ${CMAKE_SOURCE_DIR}/doc/kymo.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
