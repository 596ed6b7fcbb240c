/* CMakeLists.txt of the CUDA target: the same programs as its Makefile. */
#include "codegen/cuda.h"
#include "ir/base/embedded.h"

/* Products of bf16 are cuBLASLt's here, not the runtime's. */
static void
list_runtime(Emit *e)
{
    for (int i = 0; i < embedded_count; i++) {
        const char *name = embedded_files[i].name, *dot = strrchr(name, '.');
        if (strncmp(name, "runtime/", 8) == 0 && !strstr(name, "_bf16.") &&
            (strcmp(dot, ".c") == 0 || strcmp(dot, ".cu") == 0))
            emit_line(e, "    ${EDL_RUNTIME_DIR}/%s", name + 8);
    }
}

const char *
cuda_cmake(Arena *a, bool copied)
{
    Emit e = emit_new(a);
    emit_line(&e, "# Written by edlc. The trainer of each model here.");
    emit_line(&e, "cmake_minimum_required(VERSION 3.18)");
    emit_line(&e, "if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)\n"
                  "  set(CMAKE_CUDA_ARCHITECTURES 80 90)\n"
                  "endif()\n"
                  "if(NOT CMAKE_BUILD_TYPE)\n"
                  "  set(CMAKE_BUILD_TYPE Release)\n"
                  "endif()");
    emit_line(&e, "project(edl_models LANGUAGES C CXX CUDA)");
    emit_line(&e, "find_package(CUDAToolkit REQUIRED)\n"
                  "find_package(Threads REQUIRED)");
    if (copied)
        emit_line(&e, "set(EDL_RUNTIME_DIR ${CMAKE_CURRENT_SOURCE_DIR})");
    else
        emit_line(&e, "find_package(PkgConfig REQUIRED)\n"
                      "pkg_check_modules(EDL REQUIRED edl)\n"
                      "pkg_get_variable(EDL_RUNTIME_DIR edl runtimedir)");
    emit_line(&e, "add_library(edl_runtime STATIC");
    list_runtime(&e);
    emit_line(&e, ")");
    emit_line(&e, "target_include_directories(edl_runtime PUBLIC "
                  "${CMAKE_CURRENT_SOURCE_DIR}\n    ${EDL_RUNTIME_DIR})");
    emit_line(&e, "target_compile_features(edl_runtime PUBLIC c_std_11 "
                  "cuda_std_17)");
    emit_line(&e, "# Results depend on these: no contraction, no fast-math.");
    emit_line(&e,
              "target_compile_options(edl_runtime PUBLIC\n"
              "    $<$<COMPILE_LANGUAGE:C>:-ffp-contract=off "
              "-fno-math-errno -fno-trapping-math>\n"
              "    $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false "
              "-Xcompiler=-ffp-contract=off>)");
    emit_line(&e, "target_link_libraries(edl_runtime PUBLIC CUDA::cudart "
                  "CUDA::cublasLt\n    Threads::Threads m)");
    emit_line(&e, "file(GLOB mains RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} "
                  "*_main.c)\n"
                  "foreach(main ${mains})\n"
                  "  string(REGEX REPLACE \"_main\\\\.c$\" \"\" model ${main})\n"
                  "  add_executable(${model} ${model}.cu ${main})\n"
                  "  target_link_libraries(${model} PRIVATE edl_runtime)\n"
                  "endforeach()");
    return emit_string(&e);
}
