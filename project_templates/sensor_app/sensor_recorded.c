/* Plays a recording instead of a sensor. In real time its rows arrive at the sensor's rate by the board's counter, but
   idle time is skipped. Rows that arrive while the queue is full are lost, as with a sensor. */
#include <string.h>

#include "recording.h"
#include "sensor.h"
#include "solder_port.h"

static uint64_t now_ticks; /* in the recording, which begins at 0 */
static uint32_t last;      /* the counter at now_ticks */
static uint32_t next;      /* row of the recording */

enum sensor_status sensor_begin(char *const *files)
{
    (void)files;
    last = solder_port_ticks();
    return SENSOR_ROW;
}

enum sensor_status sensor_read(app_element *row, uint32_t *lost_rows)
{
    const struct solder_counter counter = solder_port_counter();
    const uint64_t row_ticks = IN_REAL_TIME * (uint64_t)counter.hz * WINDOW_US / 1000000u / WINDOW_ROWS;
    const uint64_t due = (uint64_t)(next + 1u) * row_ticks;
    const uint32_t ticks = solder_port_ticks();

    now_ticks += (ticks - last) & (0xFFFFFFFFu >> (32u - counter.bits));
    last = ticks;
    if (now_ticks < due) {
        now_ticks = due;
    }
    if (now_ticks >= due + (QUEUE_ROWS + 1u) * row_ticks && row_ticks > 0u) {
        const uint64_t late_rows = (now_ticks - due) / row_ticks;
        const uint32_t there = recording_rows - next;

        *lost_rows = late_rows - QUEUE_ROWS < there ? (uint32_t)(late_rows - QUEUE_ROWS) : there;
        next += *lost_rows;
    }
    if (next == recording_rows) {
        return SENSOR_END;
    }
    memcpy(row, recording[next++], sizeof recording[0]);
    return SENSOR_ROW;
}

const char *sensor_fault(void)
{
    return "";
}
