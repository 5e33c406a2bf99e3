/* What the files of this platform ask of each other. */
#ifndef HOST_H
#define HOST_H

/* `path` is the program's own file: a reset starts it again. */
void host_init(const char *path);

/* True where a run has computed for as long as it may; else SIGALRM comes again when it may have. */
int host_deadline_passed(void);

#endif
