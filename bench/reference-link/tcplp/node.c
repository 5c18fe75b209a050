/* One node of TCPlp: its core out of OpenThread's third_party/tcplp, with what OpenThread's tcp6.cpp
 * does for it reduced to one connection. Segments go to and come from the model, which has the
 * 6LoWPAN layer. The build makes two copies of everything, one for each end. */

#include <openthread/ip6.h>
#include <openthread/message.h>
#include <openthread/tcp.h>
#include "tcplp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER 1848
#define CHUNK 512
#define SEGMENT 600
#define TIMERS 4
#define PORT 1

/* What TCPlp calls a message. */
struct otMessage {
  struct otMessage *next;
  uint16_t length;
  uint8_t octets[SEGMENT];
};

/* What the application has written, until it is acknowledged. */
struct chunk {
  otLinkedBuffer link; /* first: TCPlp knows this address */
  struct chunk *next;
  uint8_t octets[CHUNK];
};

static struct tcpcb connection;
static struct tcpcb_listen listener;
static uint8_t receive_buffer[BUFFER + BUFFER / 8 + 1];
static uint32_t now_ms, timers[TIMERS], random_state, source, checked;
static uint64_t written, read_octets, wrong;
static otMessage *first, *last;
static struct chunk *oldest, *newest;
static int open;

static uint8_t octet(uint64_t offset) { return (uint8_t)((offset * 0x9e3779b97f4a7c15u) >> 40); }

static void address(void *out, uint32_t is_source)
{
  /* The link-local address that a 16-bit link address implies. */
  static const uint8_t prefix[15] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0};
  memcpy(out, prefix, sizeof prefix);
  ((uint8_t *)out)[15] = is_source ? 1 : 2;
}

/* Messages. */

otMessage *tcplp_sys_new_message(otInstance *instance)
{
  (void)instance;
  return calloc(1, sizeof(otMessage));
}

void tcplp_sys_free_message(otInstance *instance, otMessage *message)
{
  (void)instance;
  free(message);
}

void tcplp_sys_send_message(otInstance *instance, otMessage *message, otMessageInfo *info)
{
  (void)instance, (void)info;
  message->next = NULL;
  if (first)
    last->next = message;
  else
    first = message;
  last = message;
}

uint16_t otMessageGetOffset(const otMessage *message) { (void)message; return 0; }

otError otMessageSetLength(otMessage *message, uint16_t length)
{
  if (length > SEGMENT)
    return OT_ERROR_NO_BUFS;
  message->length = length;
  return OT_ERROR_NONE;
}

uint16_t otMessageRead(const otMessage *message, uint16_t offset, void *out, uint16_t length)
{
  if (offset > message->length)
    return 0;
  if (length > message->length - offset)
    length = message->length - offset;
  memcpy(out, message->octets + offset, length);
  return length;
}

int otMessageWrite(otMessage *message, uint16_t offset, const void *in, uint16_t length)
{
  if (offset + length > SEGMENT)
    abort();
  memcpy(message->octets + offset, in, length);
  return length;
}

/* Time, chance and byte order. */

uint32_t tcplp_sys_get_ticks(void) { return now_ms; }
uint32_t tcplp_sys_get_millis(void) { return now_ms; }
uint16_t tcplp_sys_hostswap16(uint16_t value) { return __builtin_bswap16(value); }
uint32_t tcplp_sys_hostswap32(uint32_t value) { return __builtin_bswap32(value); }

uint32_t tcplp_sys_generate_isn(void)
{
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8 | random_state << 24;
}

static int timer(uint8_t flag)
{
  switch (flag) {
  case TT_DELACK:
    return 0;
  case TT_REXMT:
  case TT_PERSIST:
    return 1;
  case TT_KEEP:
    return 2;
  default:
    return 3;
  }
}

void tcplp_sys_set_timer(struct tcpcb *tp, uint8_t flag, uint32_t delay)
{
  (void)tp;
  timers[timer(flag)] = now_ms + delay;
}

void tcplp_sys_stop_timer(struct tcpcb *tp, uint8_t flag) { (void)tp, (void)flag; }

static int is_active(int which)
{
  switch (which) {
  case 0:
    return tcp_timer_active(&connection, TT_DELACK);
  case 1:
    return tcp_timer_active(&connection, TT_REXMT) || tcp_timer_active(&connection, TT_PERSIST);
  case 2:
    return tcp_timer_active(&connection, TT_KEEP);
  default:
    return tcp_timer_active(&connection, TT_2MSL);
  }
}

static int fire(int which)
{
  switch (which) {
  case 0:
    return tcp_timer_delack(&connection);
  case 1:
    return tcp_timer_active(&connection, TT_REXMT) ? tcp_timer_rexmt(&connection)
                                                   : tcp_timer_persist(&connection);
  case 2:
    return tcp_timer_keep(&connection);
  default:
    return tcp_timer_2msl(&connection);
  }
}

/* Connections. */

struct tcpcb *tcplp_sys_accept_ready(struct tcpcb_listen *tpl, struct in6_addr *from, uint16_t port)
{
  (void)tpl, (void)from, (void)port;
  return connection.t_state == TCP6S_CLOSED ? &connection : NULL;
}

bool tcplp_sys_accepted_connection(struct tcpcb_listen *tpl, struct tcpcb *tp, struct in6_addr *from,
                                   uint16_t port)
{
  (void)tpl, (void)tp, (void)from, (void)port;
  return true;
}

void tcplp_sys_connection_lost(struct tcpcb *tp, uint8_t error)
{
  (void)tp, (void)error;
  open = 0;
}

void tcplp_sys_on_state_change(struct tcpcb *tp, int state) { (void)tp, (void)state; }
void tcplp_sys_log(const char *format, ...) { (void)format; }

void tcplp_sys_panic(const char *format, ...)
{
  fprintf(stderr, "TCPlp: %s\n", format);
  abort();
}

/* TCPlp counts up to seven octets too many if the receive buffer has been filled entirely out of
 * order, and an assertion ends it; the build puts this in between (--wrap). */
size_t __real_cbuf_reass_count_set(struct cbufhead *, size_t, uint8_t *, size_t);
size_t __wrap_cbuf_reass_count_set(struct cbufhead *buffer, size_t offset, uint8_t *bitmap,
                                   size_t limit)
{
  size_t count = __real_cbuf_reass_count_set(buffer, offset, bitmap, limit);
  size_t most = cbuf_free_space(buffer) - offset;
  return count < most ? count : most;
}

bool tcplp_sys_autobind(otInstance *instance, const otSockAddr *peer, otSockAddr *own, bool bind,
                        bool bind_port)
{
  (void)instance, (void)peer, (void)bind, (void)bind_port;
  address(&own->mAddress, source);
  own->mPort = 49152;
  return true;
}

/* The application. */

static void write_more(void)
{
  while (open) {
    size_t room = BUFFER - lbuf_used_space(&connection.sendbuf);
    if (room == 0)
      return;
    struct chunk *chunk = calloc(1, sizeof *chunk);
    size_t length = room < CHUNK ? room : CHUNK;
    for (size_t i = 0; checked && i < length; i++)
      chunk->octets[i] = octet(written + i);
    chunk->link.mData = chunk->octets;
    chunk->link.mLength = length;
    if (oldest)
      newest->next = chunk;
    else
      oldest = chunk;
    newest = chunk;
    written += length;
    if (tcp_usr_send(&connection, length < room, &chunk->link, 0, NULL) != 0)
      open = 0;
  }
}

static void read_all(void)
{
  uint8_t data[CHUNK];
  while (cbuf_used_space(&connection.recvbuf) > 0) {
    size_t n =
        cbuf_read(&connection.recvbuf, data, 0, sizeof data, 1, cbuf_copy_into_buffer);
    for (size_t i = 0; checked && i < n; i++)
      wrong += data[i] != octet(read_octets + i);
    read_octets += n;
    tcp_usr_rcvd(&connection);
  }
}

static void signals(const struct tcplp_signals *sig)
{
  for (uint32_t i = 0; i < sig->links_popped && oldest; i++) {
    struct chunk *done = oldest;
    oldest = done->next;
    free(done);
  }
  if (sig->conn_established)
    open = 1;
}

/* With check, the stream has content, and the sink checks it. */
void node_init(uint32_t is_source, uint32_t seed, uint32_t check)
{
  source = is_source;
  random_state = seed;
  checked = check;
  lbuf_init(&connection.sendbuf);
  cbuf_init(&connection.recvbuf, receive_buffer, BUFFER);
  connection.reassbmp = receive_buffer + BUFFER;
  bmp_init(connection.reassbmp, BITS_TO_BYTES(BUFFER));
  initialize_tcb(&connection);
  if (!source) {
    address(&listener.laddr, 0);
    listener.lport = htons(PORT);
    listener.t_state = TCP6S_LISTEN;
  }
}

void node_start(uint32_t ms)
{
  now_ms = ms;
  if (!source)
    return;
  struct sockaddr_in6 to;
  memset(&to, 0, sizeof to);
  address(&to.sin6_addr, 0);
  to.sin6_port = htons(PORT);
  connection.t_flags &= ~TF_FASTOPEN;
  tcp6_usr_connect(&connection, &to);
}

void node_run(uint32_t ms)
{
  now_ms = ms;
  for (int i = 0; i < TIMERS; i++)
    if (is_active(i) && (int32_t)(timers[i] - now_ms) <= 0 && fire(i))
      break;
  if (source)
    write_more();
  else
    read_all();
}

/* Milliseconds until the next timer. */
uint32_t node_sleep(uint32_t ms)
{
  uint32_t sleep = UINT32_MAX;
  for (int i = 0; i < TIMERS; i++)
    if (is_active(i)) {
      uint32_t left = (int32_t)(timers[i] - ms) > 0 ? timers[i] - ms : 0;
      if (left < sleep)
        sleep = left;
    }
  return sleep;
}

/* A segment has arrived, its checksum is right. */
void node_receive(uint32_t ms, const uint8_t *octets, uint32_t len)
{
  now_ms = ms;
  uint32_t header[15];
  uint32_t header_len = len > 12 ? (octets[12] >> 4) * 4u : 0;
  if (len > SEGMENT || header_len < 20 || header_len > len)
    return;
  memcpy(header, octets, header_len);
  struct tcphdr *th = (struct tcphdr *)header;
  tcp_fields_to_host(th);
  struct ip6_hdr ip;
  memset(&ip, 0, sizeof ip);
  ip.ip6_plen = htons((uint16_t)len);
  address(&ip.ip6_src, !source);
  address(&ip.ip6_dst, source);
  otMessage message = {NULL, (uint16_t)len, {0}};
  memcpy(message.octets, octets, len);
  struct tcplp_signals sig;
  memset(&sig, 0, sizeof sig);
  int is_known = connection.t_state != TCP6S_CLOSED && connection.fport == th->th_sport;
  if (is_known)
    tcplp_input(&ip, th, &message, &connection, NULL, &sig);
  else if (listener.t_state == TCP6S_LISTEN)
    tcplp_input(&ip, th, &message, NULL, &listener, &sig);
  signals(&sig);
}

/* The next segment to be sent, with its checksum still to be filled in. */
uint32_t node_segment(uint8_t *out)
{
  otMessage *message = first;
  if (message == NULL)
    return 0;
  first = message->next;
  uint32_t length = message->length;
  memcpy(out, message->octets, length);
  free(message);
  return length;
}

uint64_t node_received(void) { return read_octets; }
uint64_t node_faults(void) { return wrong; }

uint32_t node_info(uint32_t which)
{
  switch (which) {
  case 0:
    return (uint32_t)connection.snd_cwnd;
  case 1:
    return (uint32_t)connection.snd_ssthresh;
  default:
    return (uint32_t)connection.t_rxtcur;
  }
}
