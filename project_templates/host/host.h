/* What the files of this platform ask of each other. */
#ifndef HOST_H
#define HOST_H

/* `path` is the program's own file: a reset starts it again. */
void host_init(const char *path);

/* True if a run has used up its time; else SIGALRM comes again when it may have. */
int host_deadline_passed(void);

#endif
