//! System calls as text.

/// `name(arguments) = result ERRNO (words)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: Vec<String>,
    /// `None`: any.
    pub(super) result: Option<i64>,
    pub(super) errno: Option<String>,
}

impl Call {
    pub(super) fn parse(text: &str) -> Result<Call, String> {
        let text = text.trim().trim_end_matches(';');
        let unknown = || format!("not understood: {text}");
        let (name, rest) = text.split_once('(').ok_or_else(unknown)?;
        let name = name.trim();
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(word) {
            return Err(unknown());
        }
        let end = closing(rest).ok_or_else(unknown)?;
        let result = rest[end + 1..].trim().strip_prefix('=').ok_or_else(unknown)?;
        let mut words = result.split_whitespace();
        let value = words.next().ok_or_else(unknown)?;
        let any = matches!(value, "..." | "?");
        let errno = words.next().filter(|word| word.starts_with('E')).map(str::to_owned);
        Ok(Call {
            name: name.to_owned(),
            arguments: split(&rest[..end]),
            result: if any { None } else { Some(constant(value).ok_or_else(unknown)?) },
            errno,
        })
    }

    /// The argument at `index`, which must be a number or a name of one.
    pub(super) fn number(&self, index: usize) -> Result<i64, String> {
        let text = self.text(index);
        let inside = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
        constant(inside).ok_or_else(|| {
            format!("argument {} of {} is not understood: `{text}`", index + 1, self.name)
        })
    }

    /// The argument at `index`; empty if there is none.
    pub(super) fn text(&self, index: usize) -> &str {
        self.arguments.get(index).map_or("", String::as_str)
    }
}

/// The place of the parenthesis that closes one before `text`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Arguments, split at commas outside of brackets and strings.
fn split(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut depth = 0;
    let mut string = false;
    for c in text.chars() {
        match c {
            '"' => string = !string,
            '(' | '[' | '{' if !string => depth += 1,
            ')' | ']' | '}' if !string => depth -= 1,
            ',' if depth == 0 && !string => {
                out.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = out.last_mut() {
            last.push(c);
        }
    }
    out.iter().map(|argument| argument.trim().to_owned()).collect()
}

/// A number, or names of flags joined by `|`; flags without meaning here count as zero.
fn constant(text: &str) -> Option<i64> {
    text.split('|').try_fold(0, |sum, part| Some(sum | single(part.trim())?))
}

/// The flag that makes calls return at once.
pub(super) const O_NONBLOCK: i64 = 0x800;
/// The flag that leaves what is received.
pub(super) const MSG_PEEK: i64 = 2;

fn single(text: &str) -> Option<i64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return i64::from_str_radix(hex, 16).ok();
    }
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    Some(match text {
        "O_NONBLOCK" | "SOCK_NONBLOCK" => O_NONBLOCK,
        "MSG_PEEK" => MSG_PEEK,
        "O_RDWR" => 2,
        "SOCK_STREAM" => 1,
        "IPPROTO_TCP" | "SOL_TCP" => 6,
        "SHUT_RD" => 0,
        "SHUT_WR" => 1,
        "SHUT_RDWR" => 2,
        "SOCK_CLOEXEC" | "MSG_DONTWAIT" | "MSG_NOSIGNAL" => 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_taken_apart() {
        let call = Call::parse("f(3, {a=1, b=2}, \"x, y\", ...) = -1 EAGAIN (Try, again)").unwrap();
        assert_eq!(call.arguments, ["3", "{a=1, b=2}", "\"x, y\"", "..."]);
        assert_eq!((call.result, call.errno.as_deref()), (Some(-1), Some("EAGAIN")));
        assert_eq!(call.number(0), Ok(3));
        assert!(call.number(3).is_err());
        assert_eq!(Call::parse("f(3, O_RDWR|O_NONBLOCK) = 0").unwrap().number(1), Ok(0x802));
        assert!(Call::parse("f(3").is_err() && Call::parse("f(3) = x").is_err());
    }
}
