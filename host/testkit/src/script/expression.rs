//! Arguments of calls: numbers and their names, strings, lists and structures.

use super::cursor::{Cursor, Wrong};
use crate::socket::symbol;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expression {
    pub(super) at: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `...`
    Any,
    Number(i64),
    Text(String),
    List(Vec<Expression>),
    /// Fields with their names; a field without one has its position.
    Structure(Vec<(String, Expression)>),
}

impl Expression {
    pub(super) fn parse(cursor: &mut Cursor) -> Result<Expression, Wrong> {
        let at = cursor.at();
        let kind = if cursor.eat("...") {
            Kind::Any
        } else if cursor.eat("\"") {
            let text = cursor.until("\"")?.to_owned();
            // A string with dots is repeated without end.
            cursor.eat("...");
            Kind::Text(text)
        } else if cursor.eat("[") {
            Kind::List(list(cursor, "]")?)
        } else if cursor.eat("{") {
            Kind::Structure(fields(cursor)?)
        } else {
            Kind::Number(number(cursor, 0)?)
        };
        Ok(Expression { at, kind })
    }

    pub(super) fn wrong(&self, what: &str) -> Wrong {
        Wrong { at: self.at, what: what.to_owned() }
    }

    /// Returns a number, or the only one of a list; `None` for `...`.
    pub(super) fn number(&self) -> Result<Option<i64>, Wrong> {
        match &self.kind {
            Kind::Any => Ok(None),
            Kind::Number(number) => Ok(Some(*number)),
            Kind::List(list) if list.len() == 1 => list[0].number(),
            _ => Err(self.wrong("a number is wanted here")),
        }
    }

    /// Returns a number of C's `int`; `...` counts as `default`.
    pub(super) fn int(&self, default: i32) -> Result<i32, Wrong> {
        let number = self.number()?.unwrap_or(i64::from(default));
        let wrapped = u32::try_from(number).map(u32::cast_signed);
        i32::try_from(number).or(wrapped).map_err(|_| self.wrong("this number is out of range"))
    }

    /// Returns the field `name` of a structure.
    pub(super) fn field(&self, name: &str) -> Option<&Expression> {
        let Kind::Structure(fields) = &self.kind else { return None };
        fields.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Returns the parts of a list; any other expression is its only part.
    pub(super) fn parts(&self) -> &[Expression] {
        match &self.kind {
            Kind::List(list) => list,
            _ => std::slice::from_ref(self),
        }
    }
}

/// Parses expressions with commas between them, up to `close`.
pub(super) fn list(cursor: &mut Cursor, close: &str) -> Result<Vec<Expression>, Wrong> {
    let mut out = Vec::new();
    while !cursor.eat(close) {
        if !out.is_empty() {
            cursor.expect(",")?;
        }
        out.push(Expression::parse(cursor)?);
    }
    Ok(out)
}

/// Parses `name=value`, `name(hint)=value` or a value alone, up to the brace.
fn fields(cursor: &mut Cursor) -> Result<Vec<(String, Expression)>, Wrong> {
    let mut out = Vec::new();
    while !cursor.eat("}") {
        if !out.is_empty() {
            cursor.expect(",")?;
        }
        let mut ahead = cursor.clone();
        let name = ahead.word();
        if ahead.eat("(") {
            ahead.until(")")?;
        }
        let named = !name.is_empty() && ahead.starts_with("=") && !ahead.starts_with("==");
        if named {
            ahead.expect("=")?;
            *cursor = ahead;
        }
        let value = Expression::parse(cursor)?;
        out.push((if named { name.to_owned() } else { String::new() }, value));
    }
    Ok(out)
}

/// Operators by precedence, lowest first.
const OPERATORS: [&[&str]; 5] = [&["|"], &["&"], &["<<"], &["+", "-"], &["*"]];

/// Evaluates C's arithmetic, from operators of `level` on.
fn number(cursor: &mut Cursor, level: usize) -> Result<i64, Wrong> {
    let Some(operators) = OPERATORS.get(level) else { return atom(cursor) };
    let mut value = number(cursor, level + 1)?;
    while let Some(operator) = operators.iter().find(|operator| cursor.eat(operator)) {
        let other = number(cursor, level + 1)?;
        let shift = u32::try_from(other).ok().filter(|n| *n < 63);
        let result = match *operator {
            "|" => Some(value | other),
            "&" => Some(value & other),
            "<<" => shift.and_then(|n| value.checked_mul(1 << n)),
            "+" => value.checked_add(other),
            "-" => value.checked_sub(other),
            _ => value.checked_mul(other),
        };
        value = result.ok_or_else(|| cursor.wrong("the number before this is out of range"))?;
    }
    Ok(value)
}

/// Parses a value without operators, unless they are in parentheses.
pub(super) fn atom(cursor: &mut Cursor) -> Result<i64, Wrong> {
    if cursor.eat("-") {
        return Ok(atom(cursor)?.wrapping_neg());
    }
    if cursor.eat("~") {
        return Ok(!atom(cursor)?);
    }
    if cursor.eat("(") {
        let value = number(cursor, 0)?;
        cursor.expect(")")?;
        return Ok(value);
    }
    let mut ahead = cursor.clone();
    let word = ahead.word();
    let value = match word.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None if word.starts_with(|c: char| c.is_ascii_digit()) => word.parse().ok(),
        None => symbol(word),
    };
    let value = value.ok_or_else(|| cursor.wrong("not understood as a value"))?;
    *cursor = ahead;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Expression {
        Expression::parse(&mut Cursor::new(text)).expect(text)
    }

    #[test]
    fn numbers_are_computed_as_in_c() {
        for (text, value) in [
            ("O_RDWR|O_NONBLOCK", 0x802),
            ("-1", -1),
            ("0x10 + 2*3", 22),
            ("(1 + 2) * 3 - 1", 8),
            ("1 << 4 | 1", 17),
            ("~0 & 7", 7),
            ("[EPOLLET]", 1 << 31),
        ] {
            assert_eq!(parse(text).number(), Ok(Some(value)), "{text}");
        }
        assert_eq!(parse("EPOLLIN|EPOLLET").int(0), Ok(i32::MIN | 1));
        assert_eq!((parse("...").number(), parse("...").int(7)), (Ok(None), Ok(7)));
    }

    #[test]
    fn lists_and_structures_are_taken_apart() {
        let message = parse("{msg_name(...)=..., msg_iov(2)=[{..., 40}, {\"ab\"..., 2}], flags=0}");
        let vector = message.field("msg_iov").expect("is there").parts();
        assert_eq!((vector.len(), message.field("flags").expect("is there").int(9)), (2, Ok(0)));
        assert_eq!(message.field("msg_name").expect("is there").number(), Ok(None));
        let Kind::Structure(second) = &vector[1].kind else { panic!("a structure") };
        assert_eq!(second[0].1.kind, Kind::Text("ab".to_owned()));
    }

    #[test]
    fn errors_of_an_expression_have_their_position() {
        for (text, at) in [("[1, ODD_NAME]", 4), ("{a=}", 3), ("1 + ", 4), ("\"x", 1), ("[1 2]", 3)]
        {
            let wrong = Expression::parse(&mut Cursor::new(text)).expect_err(text);
            assert_eq!(wrong.at, at, "{text}: {}", wrong.what);
        }
    }
}
