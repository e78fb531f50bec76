/* SPDX-License-Identifier: MIT
 *
 * What a program asked its devices for, as a sequence of words: one for each call that launched
 * something, in the order of the calls, thread after thread. Without devices: its outermost
 * operators.
 */
#ifndef HB_STEPS_STEP_WORDS_H
#define HB_STEPS_STEP_WORDS_H

#include "base/arena.h"
#include "base/string_table.h"
#include "trace/source.h"

typedef struct hb_step_word {
    int64_t start_ns, end_ns; /* of the call */
    int64_t tid;
    int64_t work_ns;     /* what the devices took for it; of operators: what they took themselves */
    hb_string_id name;   /* of the kernel or operator */
    hb_string_id exact;  /* with its grid or shapes */
    hb_string_id stack;  /* its call stack as text; 0: none */
    uint32_t frames;     /* where its return addresses begin, outermost first */
    uint16_t num_frames; /* 0: not known */
    bool is_copy;        /* a copy or a fill, no kernel */
    bool loads;          /* since the word before, the thread waited for a data loader */
    bool host_waits;     /* since the word before, the thread waited for a device or a loader, or
                            copied to or from its own memory */
} hb_step_word;

typedef struct hb_step_words {
    hb_arena *arena;
    hb_texts *texts;
    HB_VEC(hb_step_word) items;
    HB_VEC(uint64_t) frames; /* addresses, or numbers of frames' texts */
    int64_t work_ns;         /* of all words */
    int64_t stop_ns;         /* of the trace */
    uint32_t most;           /* of how many there is room */
    bool are_launches;
    bool too_many; /* there are more, and these are not all */
} hb_step_words;

/** Collects them, with `arena`, `texts`, `stop_ns` and `most` given. Leaves by the arena. */
void hb_step_words_collect(hb_step_words *words, hb_source *source);

/** A stretch of one thread's words. */
typedef struct hb_word_range {
    uint32_t first, end; /* indices; end is behind the last one */
} hb_word_range;

/** The thread with most work; {0, 0} when there is none. */
hb_word_range hb_step_words_busiest(const hb_step_words *words);

/** What the devices did for a stretch. */
int64_t hb_step_words_work(const hb_step_words *words, hb_word_range range);

#endif
