/*
 * The process that holds a pod's namespaces: waits for signals, collects orphans that the kernel hands to the first
 * process of a PID namespace, and ends on SIGINT or SIGTERM.
 */
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

int main(void) {
  sigset_t wanted;
  int caught;

  sigemptyset(&wanted);
  sigaddset(&wanted, SIGCHLD);
  sigaddset(&wanted, SIGINT);
  sigaddset(&wanted, SIGTERM);
  sigprocmask(SIG_BLOCK, &wanted, NULL);
  for (;;) {
    if (sigwait(&wanted, &caught) != 0) return 1;
    if (caught != SIGCHLD) return 0;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
  }
}
