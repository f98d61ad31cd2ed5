// One function for each kind of case. It computes the case and prints the bytes in the same order as the file in pages/cases/.
#pragma once

#include "arguments.h"

void rotate_case(Arguments& arguments);
void table_case(Arguments& arguments);
void attention_case(Arguments& arguments);
void cache_case(Arguments& arguments);
void linear_case(Arguments& arguments);
void linear_state_case(Arguments& arguments);
void sinusoidal_case(Arguments& arguments);
void alibi_slopes_case(Arguments& arguments);
void t5_buckets_case(Arguments& arguments);
