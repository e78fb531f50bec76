/* SPDX-License-Identifier: MIT */
#include "record/module_table.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/base.h"
#include "base/lock.h"
#include "record/record.h"
#include "record/strings.h"
#include "rules/name_class.h"

#define MAX_MODULES 65535u

/* Zero pages until used; never moves, so that readers need no lock: num_modules is released when an
 * entry is whole, and acquired before one is read. */
static hb_module_entry modules[MAX_MODULES + 1];
static _Atomic uint32_t num_modules;
static hb_lock lock = HB_LOCK_INIT(MODULES);

const hb_module_entry *hb_module_get(hb_module module)
{
    bool known = module != 0 && module <= atomic_load_explicit(&num_modules, memory_order_acquire);
    return known ? &modules[module] : NULL;
}

static uint32_t count_of_class(uint32_t class_name, uint32_t n)
{
    for (uint32_t i = n; i > 0; i--)
        if (modules[i].class_name == class_name) return modules[i].index + 1;
    return 0;
}

hb_module hb_module_create(const char *class_name)
{
    if (!class_name || !*class_name || hb_record_init() != HB_OK) return 0;
    uint32_t class_id = hb_strings_intern(class_name, strlen(class_name));
    hb_buf name;
    hb_buf_init(&name, (size_t)1 << 24);
    hb_lock_take(&lock);
    uint32_t n = atomic_load(&num_modules), module = 0;
    if (n < MAX_MODULES) {
        uint32_t index = count_of_class(class_id, n);
        hb_buf_printf(&name, "%s%s_%u", hb_known_text(HB_KNOWN_MODULE).s, class_name, index);
        module = n + 1;
        modules[module] =
            (hb_module_entry){class_id, hb_strings_intern(name.data, name.size), index};
        atomic_store_explicit(&num_modules, module, memory_order_release);
    }
    hb_lock_give(&lock);
    hb_buf_free(&name);
    return module;
}

void hb_modules_after_fork(void)
{
    hb_lock_init(&lock, HB_LOCK_MODULES); /* another thread of the parent may have held it */
}
