/* A plugin of QEMU's user emulation: says how many instructions a program executed.
 *
 *     scripts/neon count builds it:  cc -shared -fPIC -o count_instructions.so
 * bench/count_instructions.c qemu-aarch64 -plugin ./count_instructions.so -d plugin PROGRAM
 *
 * Debian has QEMU without its plugins and their header; what is used of the interface (version 1)
 * is declared here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_info;
struct qemu_plugin_tb;
enum { kInlineAddU64 = 0 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                                  void (*callback)(qemu_plugin_id_t,
                                                                   struct qemu_plugin_tb*));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, int operation,
                                                     void* counter, uint64_t operand);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
                                           void (*callback)(qemu_plugin_id_t, void*), void* data);
extern void qemu_plugin_outs(const char* text);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t executed;

static void Translated(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, kInlineAddU64, &executed,
                                           qemu_plugin_tb_n_insns(block));
}

static void Ended(qemu_plugin_id_t id, void* data) {
  char line[64];
  (void)id;
  (void)data;
  snprintf(line, sizeof(line), "executed %" PRIu64 "\n", executed);
  qemu_plugin_outs(line);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id,
                                                               const struct qemu_info* info,
                                                               int count, char** arguments) {
  (void)info;
  (void)count;
  (void)arguments;
  qemu_plugin_register_vcpu_tb_trans_cb(id, Translated);
  qemu_plugin_register_atexit_cb(id, Ended, NULL);
  return 0;
}
