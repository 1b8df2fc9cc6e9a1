#include <stdio.h>
#include <unistd.h>

/* Setuid root in its image: tells whether the kernel let it have that. The wording is what the suite looks for. */
int main(void) {
  printf("Effective uid: %d\n", (int)geteuid());
  return 0;
}
