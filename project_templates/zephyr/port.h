/* What main.c asks of the board before the runtime can be used. */
#ifndef PORT_H
#define PORT_H

void port_begin(void);

#endif
