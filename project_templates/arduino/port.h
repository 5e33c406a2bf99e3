/* What the sketch asks of the chip before the server starts. */
#ifndef PORT_H
#define PORT_H

void port_begin(void);

#endif
