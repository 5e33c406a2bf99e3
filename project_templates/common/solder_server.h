/* The RPC server: carries out the host's requests on the models of this firmware. */
#ifndef SOLDER_SERVER_H
#define SOLDER_SERVER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Serves until solder_port_read reports the end of input. */
void solder_server_run(void);

#ifdef __cplusplus
}
#endif

#endif
