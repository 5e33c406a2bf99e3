/* Serves the models of models.c over stdin and stdout, a pseudo terminal (--pty) or TCP (--tcp PORT). */
#include <stdio.h>

#ifdef SOLDER_CARTRIDGES
#include "cartridge_slots.h"
#endif
#include "host.h"
#include "line.h"
#include "solder_server.h"

int main(int argc, char **argv)
{
    if (host_open_line(argc, argv) != 0) {
        fprintf(stderr, "usage: %s [--pty | --tcp PORT]\n", argv[0]);
        return 2;
    }
    host_init(argv[0]);
#ifdef SOLDER_CARTRIDGES
    host_open_slots(argv[0]);
#endif
    solder_server_run();
    return 0;
}
