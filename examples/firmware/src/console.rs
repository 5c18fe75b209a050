//! Output and exit by semihosting, without `core::fmt`, which would be as large as TCP.

use cortex_m_semihosting::{debug, hio};

/// A piece of a line.
#[derive(Clone, Copy)]
pub enum Piece<'a> {
    /// Text as it is.
    Text(&'a str),
    /// A number in decimal.
    Number(u32),
}

use Piece::{Number, Text};

/// Prints these pieces and a line feed.
pub fn line(pieces: &[Piece<'_>]) {
    // Without a debugger there is no output.
    let Ok(mut out) = hio::hstdout() else { return };
    let mut text = |text: &[u8]| {
        let _ = out.write_all(text);
    };
    for piece in pieces {
        match *piece {
            Text(piece) => text(piece.as_bytes()),
            Number(number) => {
                let mut digits = [b'0'; 10];
                text(decimal(number, &mut digits));
            }
        }
    }
    text(b"\n");
}

/// The decimal digits of `number`, at the end of `digits`.
fn decimal(number: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut rest = number;
    let mut len = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        len += 1;
        if rest == 0 {
            break;
        }
    }
    digits.get(digits.len() - len..).unwrap_or_default()
}

/// Ends the emulation: with 0, or with 1 and the reason.
pub fn end(result: Result<(), &str>) -> ! {
    match result {
        Ok(()) => {
            line(&[Text("ok")]);
            debug::exit(debug::EXIT_SUCCESS);
        }
        Err(reason) => {
            line(&[Text("failed: "), Text(reason)]);
            debug::exit(debug::EXIT_FAILURE);
        }
    }
    // A debugger that does not end the program stops here.
    loop {
        cortex_m::asm::bkpt();
    }
}
