/* Serves the models of models.c over the console's UART. */
#include "port.h"
#include "solder_server.h"

int main(void)
{
    port_begin();
    solder_server_run();
    return 0;
}
