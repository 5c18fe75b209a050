/* Compiler and platform: a PC with gcc or clang. */
#ifndef LWIP_ARCH_CC_H
#define LWIP_ARCH_CC_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define LWIP_PLATFORM_ASSERT(x) do { fprintf(stderr, "lwIP assertion: %s\n", x); abort(); } while (0)
extern uint32_t node_random(void);
#define LWIP_RAND() node_random()
#endif
