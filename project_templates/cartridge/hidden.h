/* Everything is in one image: code reaches all of it by distances, without a table of addresses. */
#pragma GCC visibility push(hidden)
