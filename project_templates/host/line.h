/* The line of this computer's firmware: stdin and stdout, or the one named by its arguments. */
#ifndef LINE_H
#define LINE_H

/* No arguments: stdin and stdout. "--pty": a new pseudo terminal, named on stderr. "--tcp PORT": the next connection
   to this port of this computer; port 0 takes a free one and names it on stderr. Returns 0 when there is
   a line, else what the program exits with: why is said on stderr. */
int host_open_line(int argc, char **argv);

#endif
