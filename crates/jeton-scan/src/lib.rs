//! Places of a text at which the guard has to look.
//!
//! The scanner judges nothing: it names candidates, half-open ranges with a code, and the guard
//! decides. Everything that ordinary text has by the thousand (joiners where a script needs them,
//! selectors behind emoji) is told apart here, so that a caller sees few places.
//!
//! Properties of characters come from the caller ([`table::Table`]), so one table serves both the
//! scanner and its twin in Python (`jeton._reference.candidates`). A property test holds them equal.
//! Time is linear in the length of the text, hostile text included.

pub mod codes;
mod encoded;
mod hidden;
pub mod markers;
mod phrases;
mod runs;
pub mod scanner;
pub mod table;

pub use codes::Code;
pub use scanner::{Candidate, Scanner};
pub use table::{Row, Table};
