/* One lwIP node: a 6LoWPAN interface, a TCP connection, a queue of frames to be sent. The build
 * makes two copies of everything, one for each end, because lwIP's state is global. */

#include "lwip/init.h"
#include "lwip/netif.h"
#include "lwip/pbuf.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"
#include "netif/lowpan6.h"
#include <string.h>

/* Fragments leave lwIP all at once, without a way to say that the radio is busy. */
#define FRAMES 64
#define FRAME 127
#define FCS 2

static struct netif radio;
static struct tcp_pcb *connection;
static uint32_t now_ms, random_state, source, checked;
static uint64_t written, read_octets, wrong;
static uint8_t frames[FRAMES][FRAME];
static uint16_t lengths[FRAMES];
static unsigned first, count, overflows;

u32_t sys_now(void) { return now_ms; }

uint32_t node_random(void)
{
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8 | random_state << 24;
}

static uint8_t octet(uint64_t offset) { return (uint8_t)((offset * 0x9e3779b97f4a7c15u) >> 40); }

static err_t to_radio(struct netif *netif, struct pbuf *p)
{
  (void)netif;
  if (count == FRAMES || p->tot_len > FRAME || p->tot_len <= FCS) {
    overflows++;
    return ERR_MEM;
  }
  unsigned at = (first + count++) % FRAMES;
  lengths[at] = (uint16_t)(p->tot_len - FCS);
  pbuf_copy_partial(p, frames[at], lengths[at], 0);
  return ERR_OK;
}

static err_t set_up(struct netif *netif)
{
  err_t result = lowpan6_if_init(netif);
  netif->hwaddr_len = 8;
  memset(netif->hwaddr, 0, sizeof netif->hwaddr);
  netif->hwaddr[0] = 2;
  netif->hwaddr[7] = source ? 1 : 2;
  netif->linkoutput = to_radio;
  netif->flags |= NETIF_FLAG_LINK_UP;
  return result;
}

static void address(ip_addr_t *a, uint32_t n)
{
  memset(a, 0, sizeof *a);
  IP6_ADDR(ip_2_ip6(a), PP_HTONL(0xfe800000), 0, 0, lwip_htonl(n));
  ip6_addr_assign_zone(ip_2_ip6(a), IP6_UNICAST, &radio);
}

static void write_more(void)
{
  uint8_t data[512];
  while (connection) {
    uint16_t room = tcp_sndbuf(connection);
    if (room > sizeof data)
      room = sizeof data;
    if (room == 0)
      return;
    for (uint16_t i = 0; checked && i < room; i++)
      data[i] = octet(written + i);
    if (tcp_write(connection, data, room, TCP_WRITE_FLAG_COPY) != ERR_OK)
      return;
    written += room;
    tcp_output(connection);
  }
}

static err_t on_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
  (void)arg, (void)pcb, (void)len;
  write_more();
  return ERR_OK;
}

static err_t on_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
  (void)arg, (void)err;
  connection = pcb;
  write_more();
  return ERR_OK;
}

static err_t on_received(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
  (void)arg, (void)err;
  if (p == NULL)
    return ERR_OK;
  /* The application's copy, as the other stacks' users make it. */
  uint8_t data[512];
  for (uint16_t at = 0; at < p->tot_len;) {
    uint16_t n = pbuf_copy_partial(p, data, sizeof data, at);
    for (uint16_t i = 0; checked && i < n; i++)
      wrong += data[i] != octet(read_octets + i);
    read_octets += n;
    at += n;
  }
  tcp_recved(pcb, p->tot_len);
  pbuf_free(p);
  return ERR_OK;
}

static err_t on_accepted(void *arg, struct tcp_pcb *pcb, err_t err)
{
  (void)arg, (void)err;
  connection = pcb;
  tcp_recv(pcb, on_received);
  return ERR_OK;
}

static void on_error(void *arg, err_t err)
{
  (void)arg, (void)err;
  connection = NULL;
}

/* lwIP leaves calling this to its user. */
static void reassembly_tick(void *arg)
{
  (void)arg;
  lowpan6_tmr();
  sys_timeout(LOWPAN6_TMR_INTERVAL, reassembly_tick, NULL);
}

/* With check, the stream has content, and the sink checks it. */
void node_init(uint32_t is_source, uint32_t seed, uint32_t check)
{
  source = is_source;
  random_state = seed;
  checked = check;
  lwip_init();
  netif_add(&radio, NULL, set_up, netif_input);
  lowpan6_set_pan_id(0xabcd);
  netif_set_default(&radio);
  netif_create_ip6_linklocal_address(&radio, 0);
  ip_addr_t own;
  address(&own, source ? 1 : 2);
  netif_ip6_addr_set(&radio, 0, ip_2_ip6(&own));
  netif_ip6_addr_set_state(&radio, 0, IP6_ADDR_PREFERRED);
  netif_set_up(&radio);
  netif_set_link_up(&radio);
  reassembly_tick(NULL);
  if (!source) {
    struct tcp_pcb *listener = tcp_new_ip_type(IPADDR_TYPE_V6);
    tcp_bind(listener, IP6_ADDR_ANY, 1);
    tcp_accept(tcp_listen(listener), on_accepted);
  }
}

void node_start(void)
{
  if (!source)
    return;
  ip_addr_t to;
  address(&to, 2);
  struct tcp_pcb *pcb = tcp_new_ip_type(IPADDR_TYPE_V6);
  tcp_sent(pcb, on_sent);
  tcp_err(pcb, on_error);
  tcp_connect(pcb, &to, 1, on_connected);
}

void node_run(uint32_t ms)
{
  now_ms = ms;
  sys_check_timeouts();
  if (source)
    write_more();
}

/* Milliseconds until the next timer. */
uint32_t node_sleep(uint32_t ms)
{
  now_ms = ms;
  return sys_timeouts_sleeptime();
}

void node_receive(uint32_t ms, const uint8_t *octets, uint32_t len)
{
  now_ms = ms;
  struct pbuf *p = pbuf_alloc(PBUF_RAW, (u16_t)len, PBUF_POOL);
  if (p == NULL)
    return;
  pbuf_take(p, octets, (u16_t)len);
  if (lowpan6_input(p, &radio) != ERR_OK)
    pbuf_free(p);
}

/* Copies the oldest frame to out; its length or 0. It stays until node_sent. */
uint32_t node_frame(uint8_t *out)
{
  if (count == 0)
    return 0;
  memcpy(out, frames[first], lengths[first]);
  return lengths[first];
}

void node_sent(void)
{
  first = (first + 1) % FRAMES;
  count--;
}

uint64_t node_received(void) { return read_octets; }
uint64_t node_faults(void) { return wrong + overflows; }
/* cwnd, ssthresh and the retransmission timeout in milliseconds. */
uint32_t node_info(uint32_t which)
{
  if (connection == NULL)
    return 0;
  switch (which) {
  case 0: return connection->cwnd;
  case 1: return connection->ssthresh;
  default: return (uint32_t)connection->rto * TCP_SLOW_INTERVAL;
  }
}
