/* SPDX-License-Identifier: MIT
 *
 * Tables of functions whose calls are operators: which parameters a function has, and what they say
 * of shapes, types and work. A line a function, read at run time (plugin_format/operators.md). A
 * line that is wrong is told of and passed over; the others hold.
 */
#ifndef HB_OPS_OP_TABLE_H
#define HB_OPS_OP_TABLE_H

#include "base/arena.h"
#include "base/base.h"
#include "base/hash_slots.h"

enum {
    HB_OP_MAX_PARAMS = 32,
    HB_OP_MAX_INPUTS = 6,
    HB_OP_MAX_DIMS = 8,
    HB_OP_MAX_TOKENS = 64,  /* of a formula */
    HB_OP_MAX_DEPTH = 16,   /* numbers that a formula keeps in mind */
    HB_OP_STACK_WORDS = 24, /* of a call's stack that are looked at */
};

/** How many integers and pointers come in registers; what follows lies on the stack. */
#if defined(__aarch64__)
enum { HB_OP_REGISTERS = 8 };
#else
enum { HB_OP_REGISTERS = 6 };
#endif

enum hb_op_class {
    HB_OP_WORD,   /* a pointer, a handle, 64 bits */
    HB_OP_INT,    /* 32 bits */
    HB_OP_NATIVE, /* 32 bits, or 64 in functions whose names end in 64 */
    HB_OP_FLOAT,  /* a floating-point number: takes no word */
    HB_OP_AT,     /* what follows are addresses: of a WORD, */
    HB_OP_AT_INT, /* ... */
    HB_OP_AT_NATIVE,
    HB_OP_INTS, /* and of the first of many */
    HB_OP_WORDS,
    HB_OP_STRUCT, /* some words in memory, passed by value */
};

typedef struct hb_op_param {
    const char *name;
    enum hb_op_class class;
    uint8_t place; /* among the call's words; of a FLOAT none */
    uint8_t words; /* of a STRUCT */
} hb_op_param;

enum hb_op_token_kind {
    HB_OP_NUMBER,
    HB_OP_PARAM,
    HB_OP_COST,     /* 4 of complex numbers, else 1 */
    HB_OP_ELEMENTS, /* of an input */
    HB_OP_DIM,      /* one of its dimensions */
    HB_OP_LAST_DIM,
    HB_OP_OUTSIDE, /* what its library says of a parameter's work */
    HB_OP_RANKS,   /* of the communicator that a parameter is */
    HB_OP_ADD,
    HB_OP_SUBTRACT,
    HB_OP_MULTIPLY,
    HB_OP_DIVIDE,
    HB_OP_LESSER,
    HB_OP_GREATER,
    HB_OP_FFT,    /* 5 n log2(n / transforms) */
    HB_OP_TURNED, /* the second where a parameter says that a matrix is multiplied transposed */
    HB_OP_RIGHT,  /* the second where a parameter says that a matrix stands on the right */
};

typedef struct hb_op_token {
    enum hb_op_token_kind kind;
    uint8_t which, dim;
    double number;
} hb_op_token;

/** In reverse Polish order; without tokens: there is none. */
typedef struct hb_op_formula {
    hb_op_token *tokens;
    uint32_t count;
    bool uses_inputs;
} hb_op_formula;

typedef struct hb_op_dim {
    hb_op_formula size;
    int8_t array, length; /* parameters: as many entries of an array; -1: `size` */
} hb_op_dim;

typedef struct hb_op_type_map {
    const char *name;
    HB_VEC(struct hb_op_type {
        int64_t number;
        hb_dtype type;
    })
    types;
} hb_op_type_map;

/** Who knows of an input what no parameter says. */
enum hb_op_describer {
    HB_OP_BY_TABLE,
    HB_OP_BY_PLAN, /* the first input of the plan, or other object, that a parameter is */
    HB_OP_BY_HIPBLASLT,
    HB_OP_BY_MIOPEN,
    HB_OP_BY_DNNL_SOURCE,
    HB_OP_BY_DNNL_WEIGHTS,
    HB_OP_BY_DNNL_DESTINATION,
};

enum hb_op_type_of { HB_OP_TYPE_LETTER, HB_OP_TYPE_FIXED, HB_OP_TYPE_MAPPED };

/** How a matrix lies in memory: parameters, counted from 1; 0: not told. */
typedef struct hb_op_layout {
    uint8_t leading;    /* from one column to the next, or of a vector from one entry */
    uint8_t transposed; /* whether what lies there is multiplied transposed */
    uint8_t order;      /* rows or columns one behind the other, as CBLAS tells */
    uint8_t batch;      /* from one matrix to the next */
} hb_op_layout;

typedef struct hb_op_input {
    enum hb_op_describer describer;
    enum hb_op_type_of type_of;
    hb_dtype type;
    const hb_op_type_map *map;
    uint8_t param; /* that the map or the describer takes */
    bool hidden;   /* only for the formula */
    uint8_t num_dims;
    hb_op_dim *dims;
    hb_op_layout layout;
} hb_op_input;

enum hb_op_kind {
    HB_OP_OPERATOR,
    HB_OP_SCOPE,
    HB_OP_STEP,
    HB_OP_MODULE,
    HB_OP_LOADER,
    HB_OP_OPTIMIZER,
    HB_OP_SILENT, /* not shown */
    HB_OP_MEMORY, /* allocates or frees; shown as that alone */
    HB_OP_COLLECTIVE,
    HB_OP_SEND,
    HB_OP_RECEIVE,
    HB_OP_GROUP_BEGIN, /* calls up to the next one begin together at its end */
    HB_OP_GROUP_END,
    /* these tell of launches, by which steps are counted, and are not shown: */
    HB_OP_LAUNCH,
    HB_OP_TRANSFER,
    HB_OP_WAIT,
};

enum { HB_OP_NO_PARAM = -1, HB_OP_RESULT = -2 };

/** A function. */
typedef struct hb_op_entry {
    const char *symbol, *name;
    const char *alias;   /* what torch calls it, or NULL */
    const char *library; /* what the library's file name begins with; NULL: any */
    const char *table;   /* the file that says it */
    uint32_t line;
    const struct hb_op_entry *next; /* of that symbol, said earlier */
    const hb_op_param *params;
    const hb_op_input *inputs;
    hb_op_formula flops; /* of LOADER and MEMORY bytes */
    double least_flops;  /* calls of less work are only counted */
    uint64_t least_ns;   /* and those that take less time; 0: none do */
    enum hb_op_kind kind;
    hb_dtype type; /* that the letter of its name means */
    uint8_t num_params, num_inputs;
    uint8_t cost;
    bool wide;    /* NATIVE has 64 bits */
    bool alone;   /* operators within it are not shown */
    bool careful; /* its addresses are read as if they might be none */
    /* parameters, HB_OP_RESULT or HB_OP_NO_PARAM: */
    int8_t makes;          /* an address to which a plan is written */
    int8_t made;           /* what the inputs describe from now on */
    int8_t uses;           /* a plan, whose description is this call's */
    int8_t forgets;        /* a plan that is none any more; of MEMORY what is freed */
    int8_t file;           /* of LOADER: a descriptor; only files' calls are data loading */
    int8_t device;         /* of MEMORY: HIP's number of the GPU; HB_OP_NO_PARAM: device_number */
    int16_t device_number; /* -1: the CPU's */
    /* of communications: */
    int8_t comm;  /* the communicator */
    int8_t peer;  /* the rank in it that is sent to or received from */
    int8_t joins; /* an address to which a new communicator is written */
    int8_t key;   /* what it is known by to all its members; of a part of `comm` its color */
    int8_t many;  /* how many are written */
    int8_t error; /* an address to which an error of `comm` is written */
} hb_op_entry;

typedef struct hb_op_table {
    hb_arena arena;
    HB_VEC(hb_op_entry *) rows; /* in the order of the lines */
    HB_VEC(hb_op_type_map *) maps;
    hb_slots symbols; /* the last row of each, by number from 1 */
} hb_op_table;

/** `file` is as it was given; `column` counts from 1, in bytes. */
typedef void (*hb_op_error_fn)(void *context, const char *file, uint32_t line, uint32_t column,
                               const char *text);

/** Adds what a text says; of what was said before of the same function it takes the place. `error`
 * may be NULL. `careful` as in hb_op_entry. HB_ERROR_NO_MEMORY only. */
hb_result hb_op_table_read(hb_op_table *table, const char *file, const char *text, size_t size,
                           bool careful, hb_op_error_fn error, void *context);
/** What stands in a file, of at most 16 MB; then hb_buf_free() it. HB_ERROR_IO, HB_ERROR_LIMIT. */
hb_result hb_op_table_load(const char *path, hb_buf *text);
/** Both of a file. */
hb_result hb_op_table_read_file(hb_op_table *table, const char *path, bool careful,
                                hb_op_error_fn error, void *context);
void hb_op_table_free(hb_op_table *table);

/** Whether a row's calls communicate between ranks, or are about what does. */
bool hb_op_communicates(const hb_op_entry *row);

/** The last row of a symbol, or NULL. */
const hb_op_entry *hb_op_table_find(const hb_op_table *table, const char *symbol);

#endif
