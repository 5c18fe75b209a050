kinglet::profile! {
    /// The types that the device needs come in addition.
    pub struct Advised {
        send_buffer: 628,
        receive_buffer: 632,
        segments: 6,
        features: kinglet::tcp::WithPolicies,
        congestion: kinglet::tcp::congestion::Westwood,
        backoff: kinglet::mac::TinyOs,
    }
}

/// Gives a node's configuration its settings.
pub fn advise<K>(config: &mut kinglet::Config<K>) {
    config.mac.max_frame_retries = 3;
    config.mac.retry_delay_max = kinglet::time::Duration::from_millis(0);
    config.mac.adaptive_retry_delay = false;
    config.mac.csl = Some(kinglet::mac::Csl {
        period: kinglet::time::Duration::from_millis(250),
        drift_ppm: 40,
        sync_interval: kinglet::time::Duration::from_millis(50000),
    });
    config.net.queue_limit = 7;
    config.yields = false;
    config.polling = kinglet::Polling::Fixed {
        base: kinglet::time::Duration::from_millis(240000),
        fast_poll: kinglet::time::Duration::from_millis(100),
    };
}

/// Of each connection, at both ends.
pub const CONNECTION: kinglet::tcp::ConnectionConfig = kinglet::tcp::ConnectionConfig {
    mss: 169,
    adaptive_mss: true,
    send_buffer: 628,
    receive_buffer: 628,
    initial_window: 1,
    window_limit: 2,
    window_by_hops: true,
    ack_every: 1,
    ack_rate_request: true,
    delayed_ack: kinglet::time::Duration::from_millis(0),
    positive_acks: true,
    rto_initial: kinglet::time::Duration::from_millis(500),
    rto_min: kinglet::time::Duration::from_millis(500),
    rto: kinglet::tcp::Rto::Static,
    max_retransmits: 8,
    fast_recovery: false,
    link_losses: false,
    pacing: false,
    timestamps: true,
    sack: false,
    ecn: true,
    nagle: false,
    ..kinglet::tcp::ConnectionConfig::DEFAULT
};

/// For `Aoded::new`, with the node's role.
pub const AODV: kinglet::aodv::AodvConfig = kinglet::aodv::AodvConfig {
    metric: kinglet::aodv::Metric::HopCount,
    link_probes: false,
    ..kinglet::aodv::AodvConfig::OFF
};

/// For `Node::set_wake`; `channels` follow from the radio.
pub const WAKE: kinglet::mac::Wake = kinglet::mac::Wake {
    period: kinglet::time::Duration::from_millis(250),
    burst: kinglet::time::Duration::from_millis(100),
    sleeps_in_gaps: false,
    max_attempts: Some(5),
    ..kinglet::mac::Wake::DEFAULT
};
