//! `%{ assert … }%`: Python's comparisons and arithmetic over integers.

use crate::socket::info_field;

/// Checks every statement of a code block against `info`.
pub(super) fn check(code: &str, info: Option<&[u8]>) -> Result<(), String> {
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
        // The text after a comma is a message for Python to print.
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

/// Splits code into lines and at semicolons, but not inside parentheses.
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
        } else if ["==", "!=", "<=", ">=", "//", "<<"].iter().any(|op| rest.starts_with(op)) {
            2
        } else if "<>+-*/%(),&|".contains(first) {
            1
        } else {
            return Err(format!("not understood in a code block: {rest}"));
        };
        out.push(rest[..len].to_owned());
        rest = rest[len..].trim_start();
    }
    Ok(out)
}

/// A parser that evaluates directly; `and` and `or` evaluate both sides.
struct Parser<'a> {
    tokens: Vec<String>,
    at: usize,
    info: &'a [u8],
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
        let mut left = self.bits(0)?;
        let mut holds = None;
        while let Some(operator) = self.take(&["==", "!=", "<", "<=", ">", ">="]) {
            let right = self.bits(0)?;
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

    /// `|`, then `&` with a higher precedence, then shifts.
    fn bits(&mut self, level: usize) -> Result<i64, String> {
        let Some(operator) = ["|", "&", "<<"].get(level) else { return self.sum() };
        let mut value = self.bits(level + 1)?;
        while self.take(&[operator]).is_some() {
            let other = self.bits(level + 1)?;
            value = match *operator {
                "|" => value | other,
                "&" => value & other,
                _ => u32::try_from(other).ok().and_then(|n| value.checked_shl(n)).unwrap_or(0),
            };
        }
        Ok(value)
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
        let value = info_field(self.info, &token)
            .ok_or_else(|| format!("not understood in a code block: {token}"))?;
        self.seen.push((token, value));
        Ok(value)
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
        "TCP_LISTEN" => 10,
        "TCP_INFINITE_SSTHRESH" => 0x7fff_ffff,
        "TCPI_OPT_TIMESTAMPS" => 1,
        "TCPI_OPT_SACK" => 2,
        "TCPI_OPT_WSCALE" => 4,
        "TCPI_OPT_ECN" => 8,
        "TCPI_OPT_ECN_SEEN" => 16,
        "TCPI_OPT_SYN_DATA" => 32,
        "TCP_CA_Open" => 0,
        "TCP_CA_Disorder" => 1,
        "TCP_CA_CWR" => 2,
        "TCP_CA_Recovery" => 3,
        "TCP_CA_Loss" => 4,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    /// An established connection with a window of 3 segments, 2 of them sent, and an RTT of 100 ms.
    fn info() -> Vec<u8> {
        let mut info = vec![0; 256];
        for (at, value) in
            [(0, 1_u32), (24, 2), (68, 100_000), (76, 0x7fff_ffff), (80, 3), (100, 4)]
        {
            info[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        info
    }

    #[test]
    fn claims_are_computed() {
        let info = info();
        for holds in [
            "assert tcpi_snd_cwnd == 3, tcpi_snd_cwnd",
            "assert tcpi_unacked == 2 and not tcpi_state != TCP_ESTABLISHED",
            "assert 1 + 2 * 3 == 7; assert (1 + 2) * 3 == 9",
            "assert (6 & TCPI_OPT_SACK) != 0 and 1 | 1 << 2 == 5",
            "assert 90*1000 <= tcpi_rtt <= 110*1000 # about\nassert -1 < 0 or False",
            "assert (tcpi_snd_ssthresh ==\n TCP_INFINITE_SSTHRESH), 'never lost'",
        ] {
            assert_eq!(check(holds, Some(&info)), Ok(()), "{holds}");
        }
    }

    #[test]
    fn failed_and_unparsable_assertions_are_reported() {
        let info = info();
        let error = check("assert tcpi_snd_cwnd == 4", Some(&info)).unwrap_err();
        assert!(error.contains("tcpi_snd_cwnd is 3"), "{error}");
        assert!(
            check("assert tcpi_options == 4", Some(&info)).unwrap_err().contains("tcpi_options")
        );
        for bad in ["print(3)", "assert 1 / 0", "assert (1", "assert 1 2", "assert"] {
            assert!(check(bad, Some(&info)).is_err(), "{bad}");
        }
        assert!(check("assert 1", None).is_err());
    }
}
