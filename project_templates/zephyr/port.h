/* What main.c asks of the board before the runtime can be used. */
#ifndef PORT_H
#define PORT_H

#ifdef __cplusplus
extern "C" {
#endif

void port_begin(void);

#ifdef __cplusplus
}
#endif

#endif
