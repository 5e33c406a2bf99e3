/* Serves the models of models.c over the line. */
#include "solder_server.h"

int main(void)
{
    solder_server_run();
    return 0;
}
