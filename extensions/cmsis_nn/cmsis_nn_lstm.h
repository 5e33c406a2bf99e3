/* The steps of an LSTM of bytes by CMSIS-NN; what the input adds to the gates is computed before. */
#ifndef CMSIS_NN_LSTM_H
#define CMSIS_NN_LSTM_H

#include <stdint.h>

struct cmsis_nn_lstm_shape {
    int32_t steps, sequences, units;
    int32_t taken_mult, taken_shift, shown_mult, shown_shift; /* from hidden values to each gate */
    int32_t kept_mult, kept_shift, fresh_mult, fresh_shift;
    int32_t forget_mult, forget_shift, update_mult, update_shift;
    int32_t cell_least, cell_most, tanh_shift;
    int32_t hidden_mult, hidden_shift, hidden_zero;
};

/* Gates are in the order taken, shown, kept, fresh: x has 4 x units for each sequence, w as many rows; each
   result has the hidden values and behind them the cells. */
void cmsis_nn_lstm(
    const int16_t *x,
    const int8_t *h,
    const int16_t *c,
    int16_t *y,
    const int8_t *w,
    const int32_t *bias,
    int32_t *scratch,
    const struct cmsis_nn_lstm_shape *shape);

#endif
