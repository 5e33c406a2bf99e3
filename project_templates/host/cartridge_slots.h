/* The file in which cartridges are kept; opened before they are looked for. */
#ifndef CARTRIDGE_SLOTS_H
#define CARTRIDGE_SLOTS_H

void host_open_slots(const char *program);

#endif
