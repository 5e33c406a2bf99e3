/* What the sketch asks of the chip before the server starts. */
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
