# SPDX-License-Identifier: MIT
# Tests of dent, in the folders of the workbench: one program for each layer that workbench/CMakeLists.txt has.

# dent_test(NAME LAYER sources...)
function(dent_test name layer)
  add_executable(${name} ${ARGN})
  target_compile_options(${name} PRIVATE ${FLASHMOE_TEST_OPTIONS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${layer} fmt::fmt GTest::gtest_main flashmoe_warnings)
  target_compile_definitions(${name} PRIVATE
    DENT_RESULTS="${PROJECT_SOURCE_DIR}/docs/results" DENT_GOLDEN="${PROJECT_SOURCE_DIR}/tests/records/golden"
    DENT_RECORDS_PAGE="${PROJECT_SOURCE_DIR}/docs/dent-records.md"
    DENT_GATES_PAGE="${PROJECT_SOURCE_DIR}/docs/dent.md")
  flashmoe_discover(${name} dent)
endfunction()

# A library whose kernels make every mistake that workers must survive.
add_library(dent_test_kernels MODULE workers/kernels/scale.cpp)
target_include_directories(dent_test_kernels PRIVATE ${PROJECT_SOURCE_DIR}/workbench/include)
target_link_libraries(dent_test_kernels PRIVATE flashmoe_warnings)
if(FLASHMOE_SANITIZE)
  target_compile_options(dent_test_kernels PRIVATE -fno-sanitize=all)  # its mistakes are for dent to find
endif()

# A driver of CUDA without a GPU, found as libcuda.so.1, and kernels for it.
add_library(dent_model_driver SHARED workers/model_gpu/driver.cpp)
set_target_properties(dent_model_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/model_gpu)
add_library(dent_model_kernels MODULE workers/model_gpu/kernels.cpp)
foreach(library dent_model_driver dent_model_kernels)
  target_include_directories(${library} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/workbench/include)
  target_link_libraries(${library} PRIVATE flashmoe_warnings)
endforeach()

dent_test(dent_base_test dent_base
  operators/expression_test.cpp operators/family_test.cpp operators/operators_test.cpp measure/sample_test.cpp measure/interval_test.cpp
  measure/ratio_test.cpp measure/blocks_test.cpp measure/disturbance_test.cpp measure/verdict_test.cpp measure/clocks_test.cpp measure/comparison_test.cpp
  measure/stop_rule_test.cpp measure/sampler_test.cpp measure/share_test.cpp system/device_lock_test.cpp system/process_test.cpp system/processor_use_test.cpp)
dent_test(dent_records_test dent_records
  records/json_object_test.cpp records/line_test.cpp records/markdown_test.cpp records/round_trip_test.cpp records/comparison_test.cpp)
dent_test(dent_kernel_test dent_kernel
  cell/cell_test.cpp cell/cgroup_test.cpp ledger/ledger_test.cpp ledger/ledger_kill_test.cpp ledger/ledger_disk_test.cpp ledger/project_lock_test.cpp
  ledger/session_store_test.cpp project/executor_rules_test.cpp project/manifest_test.cpp build/compile_test.cpp build/glue_test.cpp build/declaration_test.cpp build/remedy_test.cpp
  workers/device_turns_test.cpp workers/worker_test.cpp workers/python_worker_test.cpp workers/graph_clock_test.cpp)
add_dependencies(dent_kernel_test dent-worker dent_test_kernels dent_model_driver dent_model_kernels)
target_compile_definitions(dent_kernel_test PRIVATE DENT_WORKER="$<TARGET_FILE:dent-worker>"
                           DENT_INCLUDE="${PROJECT_SOURCE_DIR}/workbench/include"
                           DENT_PYTHON_WORKER="${PROJECT_SOURCE_DIR}/workbench/workers/python/dent_worker.py"
                           DENT_TEST_KERNELS="$<TARGET_FILE:dent_test_kernels>"
                           DENT_GPU_DRIVER="$<TARGET_FILE_DIR:dent_model_driver>"
                           DENT_GPU_KERNELS="$<TARGET_FILE:dent_model_kernels>")

# Sanitized, only what parses, records and runs kernels is built, unless all is asked for: the rest starts programs and waits
# for them.
option(DENT_SANITIZE_ALL "With FLASHMOE_SANITIZE: all of dent and its tests" OFF)
if(FLASHMOE_SANITIZE AND NOT DENT_SANITIZE_ALL)
  return()
endif()

dent_test(dent_gates_test dent_gates
  accounting/cost_test.cpp diagnose/recorded_test.cpp diagnose/ncu_report_test.cpp diagnose/ncu_test.cpp diagnose/condition_test.cpp
  diagnose/diagnosis_test.cpp diagnose/tree_test.cpp diagnose/cpu_test.cpp patterns/pattern_test.cpp patterns/operators_test.cpp
  predict/predict_test.cpp predict/launch_forecast_test.cpp predict/cli_test.cpp predict/agreement_test.cpp
  predict/agreement.cpp predict/plain_agreement.cpp report/session_view_test.cpp report/format_test.cpp report/golden_test.cpp report/pictures/svg_test.cpp
  report/html_test.cpp report/markdown_test.cpp report/metrics_test.cpp report/proposal_tree_test.cpp report/rates_test.cpp report/write_reports_test.cpp report/diagnosis_test.cpp
  report/example_session.cpp session/conclude_test.cpp session/environment_test.cpp session/run_test.cpp session/resume_test.cpp
  session/profile_test.cpp session/tutorial_test.cpp evaluation/judge_test.cpp evaluation/keep_rule_test.cpp
  gates/gates_test.cpp gates/gpu_clock_test.cpp gates/speed_test.cpp gates/registry_test.cpp gates/result_test.cpp session/die_at_every_record_test.cpp session/session_test.cpp)
dent_test(dent_executors_test dent_executors
  executors/command_test.cpp executors/job_folder_test.cpp executors/machine_test.cpp executors/on_test.cpp executors/queue_test.cpp
  executors/record_stream_test.cpp executors/slot_test.cpp executors/slurm_client_test.cpp executors/ssh_test.cpp
  executors/uptime_book_test.cpp)
target_link_libraries(dent_executors_test PRIVATE dent_test_fixture)
target_compile_definitions(dent_executors_test PRIVATE DENT_EXECUTORS_PAGE="${PROJECT_SOURCE_DIR}/docs/executors.md"
                           DENT_LAUNCHERS="${CMAKE_CURRENT_SOURCE_DIR}/executors/launchers")
dent_test(dent_loop_test dent_loop
  repository/repository_test.cpp loop/elsewhere_test.cpp loop/loop_test.cpp loop/parallel_test.cpp loop/proposers/answer_test.cpp
  loop/proposers/command_proposer_test.cpp loop/state/brief_test.cpp loop/search/search_test.cpp
  loop/state/loop_state_test.cpp loop/state/stage_test.cpp mcp/server_test.cpp)
dent_test(dent_suites_test dent_loop bundle/bundle_test.cpp commits/commits_test.cpp suites/schedule_test.cpp suites/score_test.cpp suites/suite_test.cpp)
dent_test(dent_tasks_test dent_loop suites/flashinfer_test.cpp suites/kernelbench_test.cpp suites/trace_test.cpp workers/jit_test.cpp)
target_compile_definitions(dent_tasks_test PRIVATE DENT_SUITES="${CMAKE_CURRENT_SOURCE_DIR}/suites"
                           DENT_SUITE_TASKS="${CMAKE_CURRENT_SOURCE_DIR}/suites/tasks" DENT_EXAMPLES="${PROJECT_SOURCE_DIR}/examples")
dent_test(dent_cli_test dent_parser cell/ordinary_user_test.cpp cli/parser_test.cpp cli/sessions_test.cpp cli/terminal_test.cpp cli/usage_test.cpp)
target_link_libraries(dent_cli_test PRIVATE dent_gates)
foreach(program dent_gates_test dent_executors_test dent_loop_test dent_suites_test dent_tasks_test dent_cli_test)
  add_dependencies(${program} dent dent_test_kernels)
  target_compile_definitions(${program} PRIVATE
    DENT_PROGRAM="$<TARGET_FILE:dent>" DENT_WORKER="$<TARGET_FILE:dent-worker>"
    DENT_TEST_KERNELS="$<TARGET_FILE:dent_test_kernels>" DENT_PATTERNS="${PROJECT_SOURCE_DIR}/patterns"
    DENT_TREES="${PROJECT_SOURCE_DIR}/workbench/diagnose" DENT_RECORDED="${CMAKE_CURRENT_SOURCE_DIR}/diagnose/recorded"
    DENT_BOTTLENECKS="${PROJECT_SOURCE_DIR}/tests/bottlenecks"
    DENT_TEST_CUBIN="${CMAKE_CURRENT_SOURCE_DIR}/predict/two_kernels.cubin")
endforeach()
foreach(part diagnose predict report mcp support watch)
  add_subdirectory(${part})
endforeach()
if(NOT FLASHMOE_SANITIZE)
  add_subdirectory(examples)
  add_subdirectory(exploits)
endif()
