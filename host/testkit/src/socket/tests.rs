//! Sockets without a script.
