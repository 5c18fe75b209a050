//! The publications of the images of MQTT: five readings, then a pause without connection.

use crate::console::{self, Piece::Text};
use embassy_time::{Duration, Instant, Timer, with_deadline, with_timeout};
use kinglet_embassy::Retry;
use minimq::{Buffers, ConfigBuilder, ConfigError, Connection, Io, Publication, QoS, Will};

const PERIOD: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_secs(2);
/// Time for a connection with all of its readings.
const ATTEMPT: Duration = Duration::from_secs(30);

/// Repeats `attempt` for ever, and prints why it has failed.
pub async fn repeat(mut attempt: impl AsyncFnMut() -> Result<(), &'static str>) {
    let mut retry = Retry::new();
    loop {
        let result = with_timeout(ATTEMPT, attempt()).await.unwrap_or(Err("the broker is silent"));
        if let Err(error) = result {
            console::line(&[Text("not published: "), Text(error)]);
        }
        // The broker keeps the session.
        Timer::after(retry.pause(result.is_ok()).unwrap_or(PAUSE)).await;
    }
}

/// Returns the settings of the session, with its will. The broker keeps it while the leaf pauses.
///
/// # Errors
/// Something does not fit into `buffers`.
pub fn settings(buffers: Buffers<'static>) -> Result<ConfigBuilder<'static>, ConfigError> {
    let will = Will::new("mote/status", b"lost", &[])?.qos(QoS::AtLeastOnce);
    let config = ConfigBuilder::new(buffers).client_id("mote")?.will(will)?;
    Ok(config.keepalive_interval(4).session_expiry_interval(600))
}

/// Publishes for one connection, with each quality of service.
///
/// # Errors
/// The connection has ended early.
pub async fn publish(
    connection: &mut Connection<'_, 'static, impl Io>,
) -> Result<(), &'static str> {
    const ENDED: &str = "the broker has ended the connection";
    let status = Publication::text("mote/status", "here").qos(QoS::ExactlyOnce);
    connection.publish(status).await.map_err(|_| ENDED)?;
    let begin = Instant::now();
    for number in 1..=5 {
        // Acknowledgements, and whatever else the broker sends.
        while let Ok(message) = with_deadline(begin + PERIOD * number, connection.poll()).await {
            message.map_err(|_| ENDED)?;
        }
        let (topic, qos) = match number {
            1 => ("mote/voltage", QoS::AtMostOnce),
            _ => ("mote/temperature", QoS::AtLeastOnce),
        };
        connection.publish(Publication::text(topic, "21.5").qos(qos)).await.map_err(|_| ENDED)?;
    }
    while !connection.session().is_publish_quiescent() {
        connection.poll().await.map_err(|_| ENDED)?;
    }
    connection.disconnect().await.map_err(|_| ENDED)
}
