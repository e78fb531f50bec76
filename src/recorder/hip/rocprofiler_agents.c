/* SPDX-License-Identifier: MIT */
#include "hip/rocprofiler_agents.h"

#include <stdio.h>

enum { MAX_AGENTS = 128 };

static struct {
    uint64_t id;
    int32_t node;
    uint32_t type, domain, location;
} agents[MAX_AGENTS];
static size_t num_agents;

static int keep(uint32_t version, const void **all, size_t count, void *arg)
{
    (void)version;
    (void)arg;
    for (size_t i = 0; i < count && num_agents < MAX_AGENTS; i++) {
        const hb_rocp_agent *a = all[i];
        if (a->size < sizeof *a) continue;
        agents[num_agents].id = a->id.handle;
        agents[num_agents].node = (int32_t)a->node;
        agents[num_agents].type = a->type;
        agents[num_agents].domain = a->domain;
        agents[num_agents++].location = a->location;
    }
    return HB_ROCP_SUCCESS;
}

void hb_rocp_agents_find(const hb_rocp *rocp)
{
    num_agents = 0;
    rocp->query_agents(HB_ROCP_AGENT_VERSION, keep, sizeof(hb_rocp_agent), NULL);
}

int32_t hb_rocp_agent_node(hb_rocp_id agent)
{
    for (size_t i = 0; i < num_agents; i++)
        if (agents[i].id == agent.handle) return agents[i].node;
    return -1;
}

/* ---- HIP's devices ---- */

/* A card's place on the PCI bus, in an agent's terms but for the function; 0 when it can't be had.
 */
static uint64_t place_of(const hb_hip *hip, int device)
{
    char text[64] = "";
    unsigned domain, bus, slot;
    if (!hip->device_get_pci_bus_id || hip->device_get_pci_bus_id(text, sizeof text, device) != 0 ||
        sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3)
        return 0;
    return (uint64_t)domain << 32 | bus << 8 | slot << 3;
}

static uint64_t place_of_agent(size_t i)
{
    return (uint64_t)agents[i].domain << 32 | (agents[i].location & ~7u);
}

/* The partitions of one card share its place, and come in the same order in both. */
int32_t hb_rocp_node_of_device(const hb_hip *hip, int device)
{
    uint64_t place = place_of(hip, device);
    int before = 0;
    for (int d = 0; place && d < device; d++)
        before += place_of(hip, d) == place;
    for (size_t i = 0; place && i < num_agents; i++)
        if (agents[i].type == HB_ROCP_AGENT_GPU && place_of_agent(i) == place && before-- == 0)
            return agents[i].node;
    return -1;
}
