/*
 * The error number that the C library's functions of floats set. The library's own is a part of its state for
 * files and streams, which would take about 1 KB of RAM and as much flash. Nothing here reads it.
 */
int *__errno(void);

int *__errno(void)
{
    static int error_number;
    return &error_number;
}
