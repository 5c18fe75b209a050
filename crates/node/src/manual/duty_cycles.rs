//! Choice of a duty cycle: the cost of each of the five, and the calls that configure it.
//!
//! A radio that listens draws as much as one that sends, so a battery-powered node listens rarely.
//! The interval decides three things at once: the delay of packets to the node, the power, and the
//! goodput.
//!
//! # The five
//!
//! * **Always on.** No node sleeps. It is the default.
//! * **Data requests.** A leaf polls its parent, at an interval and when TCP expects something:
//!   `config.mac.rx_on_when_idle`, `config.polling` and
//!   [`Node::set_parent`](crate::Node::set_parent).
//! * **Coordinated sampled listening** (CSL). A leaf's parent knows when the leaf samples the
//!   channel: `config.mac.csl`, in addition to data requests.
//! * **ContikiMAC with bursts.** Every node, relays included, samples the channel with a phase of
//!   its own, and a sender waits for that time: [`Node::set_wake`](crate::Node::set_wake).
//! * **ContikiMAC without bursts.** One frame for each wake-up: `burst` of
//!   [`mac::Wake`](crate::mac::Wake) is zero.
//!
//! A node with data requests or CSL is a leaf: it cannot relay, and the radios of its parent and of
//! all relays behind that are always on. Only with ContikiMAC do relays sleep. All nodes of a
//! network then use it, at the same rate.
//!
//! # Measured
//!
//! nRF52840, every frame secured; the mains-powered border router at one end of a line, and the
//! node in question at the other.
//!
//! * *bursts* and *no bursts* are ContikiMAC, where the relays sleep as well;
//! * *ms*: the interval of data requests, samples or wake-ups;
//! * *response*: the mean time in ms to the response to a CoAP request for 82 octets, from a host
//!   that is 12 ms away from the border router; *page*: the same by HTTP over a new connection;
//! * *radio*, *power*: the share of the time in % in which the radio is on or starts, and the power
//!   of radio and CPU together in mW, while the node serves these requests and sends a reading of
//!   82 octets once a minute;
//! * *up*, *down*: goodput of bulk TCP transfers from and to it in kb/s, with buffers of four
//!   segments, and the energy per kilobyte.
//!
//! Means of five runs of `kinglet lab run kinglet-duty-cycles --first-seed 101`, which has more
//! points, and their scatter.
//!
//! One hop; energy of the node:
//!
//! | | ms | response | page | radio | power | up | mJ/kB | down | mJ/kB |
//! |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
//! | always on | – | 21.3 | 48.3 | 100.0 | 19.6 | 102 | 1.56 | 102 | 1.57 |
//! | data requests | 125 | 84.7 | 123 | 1.34 | 0.27 | 97.0 | 1.15 | 97.4 | 1.59 |
//! | data requests | 500 | 275 | 322 | 0.35 | 0.071 | 96.1 | 1.15 | 96.1 | 1.59 |
//! | data requests | 2000 | 1015 | 1070 | 0.10 | 0.021 | 95.3 | 1.15 | 95.4 | 1.58 |
//! | CSL | 125 | 85.1 | 123 | 0.33 | 0.065 | 96.3 | 1.16 | 90.6 | 1.68 |
//! | CSL | 500 | 274 | 310 | 0.099 | 0.020 | 95.8 | 1.15 | 42.1 | 1.58 |
//! | CSL | 2000 | 1014 | 1048 | 0.043 | 0.009 | 94.1 | 1.15 | 93.2 | 1.59 |
//! | bursts | 31.25 | 54.5 | 122 | 1.10 | 0.22 | 74.1 | 1.33 | 100.3 | 1.15 |
//! | bursts | 125 | 102 | 234 | 0.29 | 0.059 | 95.7 | 1.10 | 95.7 | 1.15 |
//! | bursts | 500 | 284 | 793 | 0.093 | 0.019 | 24.0 | 1.19 | 23.9 | 1.15 |
//! | no bursts | 125 | 102 | 237 | 0.29 | 0.059 | 45.9 | 1.34 | 4.78 | 1.90 |
//! | no bursts | 500 | 284 | 811 | 0.093 | 0.019 | 12.0 | 1.33 | 1.19 | 1.91 |
//!
//! Four hops; radio, power and energy are those of a relay, the mean of the three:
//!
//! | | ms | response | page | radio | power | up | mJ/kB | down | mJ/kB |
//! |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
//! | always on | – | 61.5 | 122 | 100.0 | 19.6 | 27.8 | 5.69 | 27.8 | 5.69 |
//! | data requests | 125 | 127 | 221 | 100.0 | 19.6 | 27.8 | 5.69 | 24.6 | 6.44 |
//! | data requests | 500 | 311 | 414 | 100.0 | 19.6 | 27.9 | 5.68 | 24.9 | 6.36 |
//! | data requests | 2000 | 1105 | 1183 | 100.0 | 19.6 | 27.7 | 5.72 | 25.0 | 6.34 |
//! | CSL | 125 | 127 | 222 | 100.0 | 19.6 | 27.8 | 5.69 | 25.3 | 6.25 |
//! | CSL | 500 | 314 | 420 | 100.0 | 19.6 | 27.9 | 5.68 | 25.1 | 6.30 |
//! | CSL | 2000 | 1101 | 1207 | 100.0 | 19.6 | 27.5 | 5.77 | 24.7 | 6.42 |
//! | bursts | 31.25 | 264 | 527 | 1.19 | 0.24 | 21.0 | 3.09 | 22.2 | 2.92 |
//! | bursts | 125 | 567 | 1154 | 0.38 | 0.075 | 19.4 | 2.75 | 16.7 | 2.73 |
//! | bursts | 500 | 1871 | 3928 | 0.18 | 0.035 | 9.68 | 2.69 | 5.62 | 2.75 |
//! | no bursts | 125 | 730 | 1524 | 0.37 | 0.075 | 2.95 | 6.63 | 2.78 | 6.48 |
//! | no bursts | 500 | 2466 | 5163 | 0.18 | 0.035 | 0.64 | 8.5 | 0.67 | 9.5 |
//!
//! # Advice
//!
//! * **Mains: always on.** A mains-powered node that is the parent of leaves has to be.
//! * **A leaf that sends on its own initiative: data requests**, with an interval of minutes and
//!   prediction, which is the default ([`Polling::DEFAULT`](crate::Polling::DEFAULT)). It sends at
//!   any time, and fetches responses when they are due. An unexpected request to it waits for half
//!   of the interval on average.
//! * **A leaf that must be reached within seconds: CSL**, combined with prediction. A sample takes
//!   0.4 ms of radio time and a data request 1.6, so for the same radio time a leaf is reached four
//!   times as fast. A long download may wait for samples: at 500 ms it reaches 42 kb/s instead of
//!   96. With data requests alone it does not wait.
//! * **Relays without mains: ContikiMAC with bursts.** Nothing else lets them sleep. At eight
//!   wake-ups a second a relay takes 0.075 mW instead of 19.6. A request and its response wait for
//!   half of an interval at the first hop, and for a whole one at each further hop.
//! * **Bursts always.** Without them a reading costs the same, and anything longer waits for a
//!   wake-up with each frame: over four hops and at eight wake-ups a second, goodput is a sixth
//!   and energy more than twice as high.
//! * **Wake-up rate.** Eight times a second is a good beginning. Twice a second halves a relay's
//!   power, and responses take more than three times as long. Over one hop TCP carries a window at
//!   each wake-up, so larger buffers carry more.
//! * **TCP's first timeout** should be longer than a round trip: otherwise packets in flight are
//!   retransmitted, and delay themselves.
//!   [`ConnectionConfig::rto_initial`](crate::tcp::ConnectionConfig::rto_initial) is 3 s here.
//!   Linux has 1 s: with that, a page over four hops that wake twice a second takes 7.6 s instead
//!   of 3.9. At eight times a second it makes no difference.
//!
//! # The calls
//!
//! A plan names the types that a duty cycle needs ([`profile!`](crate::profile!)); a plan that does
//! not name them has none of their code. This one has all of them:
//!
//! ```
//! use kinglet::radio::Capabilities;
//! use kinglet::time::{Duration, Instant};
//! use kinglet::{Config, Node, Polling, mac, net, store};
//!
//! kinglet::profile! {
//!     struct Sleeper {
//!         // Polled is enough for data requests, and Sampled for CSL; Waking adds ContikiMAC.
//!         listening: mac::Waking<mac::Sampled>,
//!         // Sleepers is enough for a parent; Strobing reaches nodes with ContikiMAC.
//!         delivery_method: mac::Strobing<
//!             mac::Sleepers<[mac::Sleeper<mac::Samples>; 4]>,
//!             [mac::Strobed; 4],
//!         >,
//!         // Where relays sleep, they forward fragments one by one (RFC 8930).
//!         fragmentation: net::Rfc8930<[Option<net::Virtual>; 4], store::Ram<[store::Frame; 16]>>,
//!         forwards: true,
//!         frames: 6,
//!         children: 4,
//!         indirect: 4,
//!         packets: 6,
//!         pending_requests: 1,
//!         applications: 1,
//!     }
//! }
//!
//! let radio = Capabilities::AUTO_ACK | Capabilities::ACK_WAIT | Capabilities::SCHEDULED
//!     | Capabilities::SENSES | Capabilities::STROBES;
//! let now = Instant::from_secs(1);
//!
//! // Always on: no configuration.
//! let mut router: Node<Sleeper> =
//!     Node::new(Config::repeatable(1, [0; 8], 1, [1; 16]).unsecured(), radio);
//! router.add_child(2)?;
//!
//! // Data requests: every four minutes at the least, and when something is due.
//! let mut config = Config::repeatable(2, [0; 8], 2, [2; 16]).unsecured();
//! config.mac.rx_on_when_idle = false;
//! config.polling = Polling::Predictive { base: Duration::from_secs(240) };
//! // In addition CSL: it is reached within a second.
//! config.mac.csl = Some(mac::Csl {
//!     period: Duration::from_secs(1),
//!     drift_ppm: 40, // two crystals of 20 ppm
//!     sync_interval: Duration::from_secs(50),
//! });
//! let mut leaf: Node<Sleeper> = Node::new(config, radio);
//! leaf.set_parent(now, Some(1))?;
//!
//! // ContikiMAC with bursts, in a network in which all nodes use it.
//! let mut relay: Node<Sleeper> =
//!     Node::new(Config::repeatable(3, [0; 8], 3, [3; 16]).unsecured(), radio);
//! let eight_times = mac::Wake { period: Duration::from_millis(125), ..mac::Wake::DEFAULT };
//! relay.set_wake(Some(eight_times)).expect("plan and radio can");
//! relay.forward_fragments(true);
//! // A mains-powered border router reaches its neighbours likewise, and listens always.
//! router.set_wake(Some(mac::Wake { sleeps: false, ..eight_times })).expect("so can this");
//! // Without bursts: one frame for each wake-up.
//! relay.set_wake(Some(mac::Wake { burst: Duration::ZERO, ..eight_times })).expect("so can this");
//! # Ok::<(), kinglet::net::TableFull>(())
//! ```
//!
//! An application reports an expected UDP datagram with
//! [`Node::expect_response`](crate::Node::expect_response), so that a leaf polls for it in time.
