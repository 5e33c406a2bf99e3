/* Moves the line to stdin and stdout, which the port uses and a reset passes on. */
#define _XOPEN_SOURCE 600
#include "line.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

static int become_line(int line)
{
    return line < 0 || dup2(line, STDIN_FILENO) < 0 || dup2(line, STDOUT_FILENO) < 0;
}

/* Bytes as they are: a terminal would echo them and translate some. */
static int make_raw(int terminal)
{
    struct termios settings;

    if (tcgetattr(terminal, &settings) != 0) {
        return 1;
    }
    settings.c_iflag = 0;
    settings.c_oflag = 0;
    settings.c_lflag = 0;
    return tcsetattr(terminal, TCSANOW, &settings);
}

static int open_pty(void)
{
    const int line = posix_openpt(O_RDWR | O_NOCTTY);
    const char *name = line >= 0 && grantpt(line) == 0 && unlockpt(line) == 0 ? ptsname(line) : NULL;

    if (name == NULL) {
        perror("cannot open a pseudo terminal");
        return 1;
    }
    /* Stays open: the terminal would report its end when the first program that uses it closes it. */
    const int other_end = open(name, O_RDWR | O_NOCTTY);

    if (other_end < 0 || make_raw(other_end) != 0) {
        perror(name);
        return 1;
    }
    fprintf(stderr, "%s\n", name);
    return become_line(line);
}

static int accept_tcp(uint16_t port)
{
    const int on = 1;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t size = sizeof address;
    int line;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (const struct sockaddr *)&address, size) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        fprintf(stderr, "cannot listen on port %d: %s\n", (int)port, strerror(errno));
        return 1;
    }
    fprintf(stderr, "127.0.0.1:%d\n", (int)ntohs(address.sin_port));
    line = accept(listener, NULL, NULL);
    close(listener);
    setsockopt(line, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return become_line(line);
}

int host_open_line(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--pty") == 0) {
        return open_pty();
    }
    if (argc == 3 && strcmp(argv[1], "--tcp") == 0) {
        return accept_tcp((uint16_t)strtoul(argv[2], NULL, 10));
    }
    if (argc > 1) {
        fprintf(stderr, "usage: %s [--pty | --tcp PORT]\n", argv[0]);
        return 2;
    }
    return 0;
}
