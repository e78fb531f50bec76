/* SPDX-License-Identifier: MIT */
#include "base/file_systems.h"

#include <sys/vfs.h>

#include "base/base.h"

/* Mapped memory on these would wait for a server. */
static const uint32_t network_file_systems[] = {
    0x6969,     /* NFS */
    0x517b,     /* SMB */
    0xff534d42, /* CIFS */
    0xfe534d42, /* SMB2 */
    0x0bd00bd0, /* Lustre */
    0x47504653, /* GPFS */
    0x65735546, /* FUSE */
    0x00c36400, /* Ceph */
    0x19830326, /* BeeGFS */
    0x5346414f, /* AFS */
    0x01021997, /* 9P */
    0xaad7aaea, /* PanFS */
};

/* These write a page anew to another place: on a full disk, or over a quota, a thread that writes
 * to one that is on the disk already would die of SIGBUS, whatever was set aside for the file. */
static const uint32_t copying_file_systems[] = {
    0x9123683e, /* btrfs */
    0xca451a4e, /* bcachefs */
    0x2fc12fc1, /* ZFS */
    0x00003434, /* NILFS2 */
};

static bool is_one_of(uint32_t type, const uint32_t *types, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (type == types[i]) return true;
    return false;
}

#define IS_ONE_OF(type, types) is_one_of((uint32_t)(type), types, HB_ARRAY_LEN(types))

bool hb_dir_is_network(const char *dir)
{
    struct statfs fs;
    return statfs(dir, &fs) != 0 || IS_ONE_OF(fs.f_type, network_file_systems);
}

bool hb_dir_is_mappable(const char *dir)
{
    struct statfs fs;
    return statfs(dir, &fs) == 0 && !IS_ONE_OF(fs.f_type, network_file_systems) &&
           !IS_ONE_OF(fs.f_type, copying_file_systems);
}
