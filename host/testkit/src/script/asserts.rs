//! `%{ assert … }%`: Python's comparisons and arithmetic over integers.

use kinglet_tcp::{Info, State};

/// Checks every statement of a code block against `info`.
pub(super) fn check(code: &str, info: Option<&Info>) -> Result<(), String> {
    let code: String = code
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    for statement in statements(&code) {
        let Some(claim) = statement.strip_prefix("assert") else {
            return Err(format!("not understood in a code block: {statement}"));
        };
        let info = info.ok_or("there is no connection yet to make assertions about")?;
        let mut parser = Parser { tokens: tokens(claim)?, at: 0, info, seen: Vec::new() };
        let value = parser.disjunction()?;
        // After a comma comes what Python would print.
        if parser.peek().is_some_and(|token| token != ",") {
            return Err(format!("not understood in a code block: {statement}"));
        }
        if value == 0 {
            let seen: Vec<String> =
                parser.seen.iter().map(|(name, value)| format!("{name} is {value}")).collect();
            return Err(format!("{statement}: does not hold: {}", seen.join(", ")));
        }
    }
    Ok(())
}

/// Lines and parts between semicolons, but not inside of parentheses.
fn statements(code: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut depth = 0;
    for c in code.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            '\n' | ';' if depth == 0 => {
                out.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = out.last_mut() {
            last.push(if c == '\n' { ' ' } else { c });
        }
    }
    out.iter().map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect()
}

fn tokens(text: &str) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let len = if word(first) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else if first == '"' || first == '\'' {
            rest[1..].find(first).ok_or("a string without its end")? + 2
        } else if ["==", "!=", "<=", ">=", "//"].iter().any(|op| rest.starts_with(op)) {
            2
        } else if "<>+-*/%(),".contains(first) {
            1
        } else {
            return Err(format!("not understood in a code block: {rest}"));
        };
        out.push(rest[..len].to_owned());
        rest = rest[len..].trim_start();
    }
    Ok(out)
}

/// A parser that computes as it goes; `and` and `or` evaluate both sides.
struct Parser<'a> {
    tokens: Vec<String>,
    at: usize,
    info: &'a Info,
    /// Names that were looked up, for the message.
    seen: Vec<(String, i64)>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(String::as_str)
    }

    fn take(&mut self, options: &[&str]) -> Option<String> {
        let token = self.peek().filter(|token| options.contains(token))?.to_owned();
        self.at += 1;
        Some(token)
    }

    fn disjunction(&mut self) -> Result<i64, String> {
        let mut value = self.conjunction()?;
        while self.take(&["or"]).is_some() {
            let other = self.conjunction()?;
            value = i64::from(value != 0 || other != 0);
        }
        Ok(value)
    }

    fn conjunction(&mut self) -> Result<i64, String> {
        let mut value = self.negation()?;
        while self.take(&["and"]).is_some() {
            let other = self.negation()?;
            value = i64::from(value != 0 && other != 0);
        }
        Ok(value)
    }

    fn negation(&mut self) -> Result<i64, String> {
        let mut negations = 0;
        while self.take(&["not"]).is_some() {
            negations += 1;
        }
        let value = self.comparison()?;
        Ok(if negations == 0 { value } else { i64::from((value == 0) == (negations % 2 == 1)) })
    }

    /// As in Python, `a < b < c` is `a < b and b < c`.
    fn comparison(&mut self) -> Result<i64, String> {
        let mut left = self.sum()?;
        let mut holds = None;
        while let Some(operator) = self.take(&["==", "!=", "<", "<=", ">", ">="]) {
            let right = self.sum()?;
            let now = match operator.as_str() {
                "==" => left == right,
                "!=" => left != right,
                "<" => left < right,
                "<=" => left <= right,
                ">" => left > right,
                _ => left >= right,
            };
            holds = Some(holds.unwrap_or(true) && now);
            left = right;
        }
        Ok(holds.map_or(left, i64::from))
    }

    fn sum(&mut self) -> Result<i64, String> {
        let mut value = self.product()?;
        while let Some(operator) = self.take(&["+", "-"]) {
            let other = self.product()?;
            value = if operator == "+" {
                value.saturating_add(other)
            } else {
                value.saturating_sub(other)
            };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<i64, String> {
        let mut value = self.atom()?;
        while let Some(operator) = self.take(&["*", "/", "//", "%"]) {
            let other = self.atom()?;
            let result = match operator.as_str() {
                "*" => value.checked_mul(other),
                "%" => value.checked_rem(other),
                _ => value.checked_div(other),
            };
            value = result.ok_or("arithmetic overflows or divides by zero")?;
        }
        Ok(value)
    }

    fn atom(&mut self) -> Result<i64, String> {
        let token = self.peek().ok_or("an expression ends early")?.to_owned();
        self.at += 1;
        if token == "-" {
            return Ok(-self.atom()?);
        }
        if token == "(" {
            let value = self.disjunction()?;
            return match self.take(&[")"]) {
                Some(_) => Ok(value),
                None => Err("a parenthesis is not closed".to_owned()),
            };
        }
        if let Ok(number) = token.parse() {
            return Ok(number);
        }
        if let Some(state) = constant(&token) {
            return Ok(state);
        }
        let value = field(&token, self.info)
            .ok_or_else(|| format!("not understood in a code block: {token}"))?;
        self.seen.push((token, value));
        Ok(value)
    }
}

/// Linux's numbers of the states.
fn state_number(state: State) -> i64 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Closing => 11,
    }
}

fn constant(name: &str) -> Option<i64> {
    Some(match name {
        "True" => 1,
        "False" => 0,
        "TCP_ESTABLISHED" => 1,
        "TCP_SYN_SENT" => 2,
        "TCP_SYN_RECV" => 3,
        "TCP_FIN_WAIT1" => 4,
        "TCP_FIN_WAIT2" => 5,
        "TCP_TIME_WAIT" => 6,
        "TCP_CLOSE" => 7,
        "TCP_CLOSE_WAIT" => 8,
        "TCP_LAST_ACK" => 9,
        "TCP_CLOSING" => 11,
        "TCP_INFINITE_SSTHRESH" => 0x7fff_ffff,
        _ => return None,
    })
}

/// Fields of `tcp_info` that [`Info`] has; windows in segments, times in microseconds. Names
/// that begin with `octets_` are this stack's own and count octets.
fn field(name: &str, info: &Info) -> Option<i64> {
    let segments = |octets: u32| i64::from(octets.checked_div(info.mss).unwrap_or(0));
    let micros = |d: kinglet_time::Duration| i64::try_from(d.as_micros()).unwrap_or(i64::MAX);
    let counters = &info.counters;
    Some(match name {
        "tcpi_state" => state_number(info.state),
        "tcpi_snd_cwnd" => segments(info.cwnd),
        "tcpi_snd_ssthresh" if info.ssthresh == u32::MAX => 0x7fff_ffff,
        "tcpi_snd_ssthresh" => segments(info.ssthresh),
        "tcpi_unacked" => i64::from(info.bytes_in_flight.checked_add(info.mss)?.saturating_sub(1))
            .checked_div(i64::from(info.mss))?,
        "tcpi_snd_mss" => i64::from(info.mss),
        "tcpi_rtt" => micros(info.srtt),
        "tcpi_rttvar" => micros(info.rttvar),
        "tcpi_rto" => micros(info.rto),
        "tcpi_total_retrans" => {
            i64::from(counters.fast_retransmits) + i64::from(counters.timeout_retransmits)
        }
        "tcpi_snd_wnd" => i64::from(info.snd_wnd),
        "tcpi_rcv_wnd" => i64::from(info.rcv_wnd),
        "tcpi_bytes_acked" => i64::try_from(info.bytes_acked).ok()?,
        "tcpi_bytes_received" => i64::try_from(info.bytes_received).ok()?,
        "tcpi_notsent_bytes" => i64::from(info.bytes_queued.saturating_sub(info.bytes_in_flight)),
        "tcpi_segs_out" => i64::from(counters.segments_sent),
        "tcpi_segs_in" => i64::from(counters.segments_received),
        "octets_cwnd" => i64::from(info.cwnd),
        "octets_ssthresh" => i64::from(info.ssthresh),
        "octets_in_flight" => i64::from(info.bytes_in_flight),
        "count_timeouts" => i64::from(counters.timeouts),
        "count_recoveries" => i64::from(counters.fast_recoveries),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_tcp::Counters;
    use kinglet_time::Duration;

    fn info() -> Info {
        Info {
            state: State::Established,
            error: None,
            cwnd: 3000,
            ssthresh: u32::MAX,
            srtt: Duration::from_millis(100),
            rttvar: Duration::ZERO,
            rto: Duration::from_millis(300),
            last_rtt: Duration::ZERO,
            snd_wnd: 0,
            rcv_wnd: 0,
            mss: 1000,
            bytes_in_flight: 1001,
            bytes_queued: 0,
            bytes_acked: 0,
            bytes_received: 0,
            counters: Counters::default(),
        }
    }

    #[test]
    fn claims_are_computed() {
        let info = info();
        for holds in [
            "assert tcpi_snd_cwnd == 3, tcpi_snd_cwnd",
            "assert tcpi_unacked == 2 and not tcpi_state != TCP_ESTABLISHED",
            "assert 1 + 2 * 3 == 7; assert (1 + 2) * 3 == 9",
            "assert 90*1000 <= tcpi_rtt <= 110*1000 # about\nassert -1 < 0 or False",
            "assert (tcpi_snd_ssthresh ==\n TCP_INFINITE_SSTHRESH), 'never lost'",
        ] {
            assert_eq!(check(holds, Some(&info)), Ok(()), "{holds}");
        }
    }

    #[test]
    fn what_does_not_hold_and_what_is_not_understood_is_told() {
        let info = info();
        let told = check("assert tcpi_snd_cwnd == 4", Some(&info)).unwrap_err();
        assert!(told.contains("tcpi_snd_cwnd is 3"), "{told}");
        assert!(
            check("assert tcpi_options == 4", Some(&info)).unwrap_err().contains("tcpi_options")
        );
        for bad in ["print(3)", "assert 1 / 0", "assert (1", "assert 1 2", "assert"] {
            assert!(check(bad, Some(&info)).is_err(), "{bad}");
        }
        assert!(check("assert 1", None).is_err());
    }
}
