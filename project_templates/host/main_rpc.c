/* Serves the models of models.c over stdin and stdout, a pseudo terminal (--pty) or TCP (--tcp PORT). */
#ifdef SOLDER_CARTRIDGES
#include "cartridge_slots.h"
#endif
#include "host.h"
#include "line.h"
#include "solder_server.h"

int main(int argc, char **argv)
{
    const int failed = host_open_line(argc, argv);

    if (failed != 0) {
        return failed;
    }
    host_init(argv[0]);
#ifdef SOLDER_CARTRIDGES
    host_open_slots(argv[0]);
#endif
    solder_server_run();
    return 0;
}
