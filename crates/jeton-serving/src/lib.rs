//! Requests on a server of language models: lengths of answers foreseen, memory handed out, traffic
//! replayed.
//!
//! Lengths and times go in; no text, no clock, no file. Every result is a function of its input
//! alone, so a run can be repeated to the bit.

#![allow(clippy::cast_sign_loss)] // numbers of tokens and bytes are checked at the door

pub mod admission;
pub mod lengths;
pub mod traffic;

/// A function that is asked now and then whether the work shall go on.
pub type KeepGoing<'a> = &'a mut dyn FnMut() -> bool;
