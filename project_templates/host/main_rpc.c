/* Serves the models of models.c over stdin and stdout. */
#include "host.h"
#include "solder_server.h"

int main(int argc, char **argv)
{
    (void)argc;
    host_init(argv[0]);
    solder_server_run();
    return 0;
}
