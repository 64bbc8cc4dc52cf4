/* Counts the instructions of one run of a bound plan, by single steps of the processor itself:
 * bench/instructions.py builds it and hands it tensorcast_plan_run. Linux.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int32_t plan_run(const void* plan, const void* source, uint64_t source_bytes,
                         uint64_t source_first, void* destination, uint64_t destination_bytes,
                         uint64_t destination_first, uint64_t n, const void* run);

/* From before the run to the end of the process that makes it; -1 where that fails. */
int64_t count_plan(plan_run* run, const void* plan, const void* source, uint64_t source_bytes,
                   void* destination, uint64_t destination_bytes, uint64_t n) {
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    /* Once before, so that nothing is resolved or made ready while steps are counted. */
    run(plan, source, source_bytes, 0, destination, destination_bytes, 0, n, NULL);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(1);
    raise(SIGSTOP);
    _exit(run(plan, source, source_bytes, 0, destination, destination_bytes, 0, n, NULL) != 0);
  }
  int64_t steps = 0;
  int status = 0;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    ++steps;
    ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? steps : -1;
}
