//! The rules of the MAC against a scripted radio.
