/* What main.c asks of this computer before it starts. */
#ifndef HOST_H
#define HOST_H

/* `path` is the program's own file: a reset starts it again. */
void host_init(const char *path);

#endif
