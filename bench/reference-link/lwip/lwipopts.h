/* lwIP for a small node: no operating system, IPv6 and TCP only, tables of a few entries. */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H
#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_IPV4 0
#define LWIP_IPV6 1
#define LWIP_TCP 1
#define LWIP_UDP 0
#define LWIP_RAW 0
#define LWIP_ARP 0
#define LWIP_ICMP6 1
#define LWIP_IPV6_MLD 0
#define LWIP_IPV6_REASS 0
#define LWIP_IPV6_FRAG 0
#define LWIP_IPV6_FORWARD 0
#define LWIP_ND6_NUM_NEIGHBORS 4
#define LWIP_ND6_NUM_DESTINATIONS 4
#define LWIP_ND6_QUEUEING 1
#define LWIP_IPV6_DUP_DETECT_ATTEMPTS 0
#define LWIP_IPV6_SEND_ROUTER_SOLICIT 0
#define LWIP_STATS 0
#define LWIP_NETIF_TX_SINGLE_PBUF 0

#define MEM_ALIGNMENT 8
#define MEM_LIBC_MALLOC 0
#define MEM_SIZE 8192
#define MEMP_NUM_TCP_PCB 2
#define MEMP_NUM_TCP_PCB_LISTEN 1
/* One more than lwIP's own: reassembly. */
#define MEMP_NUM_SYS_TIMEOUT (LWIP_NUM_SYS_TIMEOUT_INTERNAL + 1)
#define MEMP_NUM_TCP_SEG 32
#define MEMP_NUM_PBUF 32
#define PBUF_POOL_SIZE 24
/* One buffer must hold a frame with its headers decompressed: 127 + 48 octets and headroom. */
#define PBUF_POOL_BUFSIZE 240

/* Four segments of five frames (480 octets of TCP), no timestamps; build.rs may say otherwise. */
#ifndef TCP_MSS
#define TCP_MSS 460
#endif
#ifndef NODE_BUFFER
#define NODE_BUFFER (4 * TCP_MSS)
#endif
#define TCP_WND NODE_BUFFER
#define TCP_SND_BUF NODE_BUFFER
#define TCP_SND_QUEUELEN 16
#define TCP_QUEUE_OOSEQ 1
#define LWIP_TCP_SACK_OUT 1
#define LWIP_TCP_MAX_SACK_NUM 4
#ifndef LWIP_TCP_TIMESTAMPS
#define LWIP_TCP_TIMESTAMPS 0
#endif

/* The radio has the FCS. */
#define LWIP_6LOWPAN_802154_HW_CRC 1
#define LWIP_6LOWPAN_INFER_SHORT_ADDRESS 0
#define NETIF_MAX_HWADDR_LEN 8
#endif
