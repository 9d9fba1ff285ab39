//! The decoders of `tokenizer.json` for ids that come one by one.
//!
//! Each step is a small machine that takes text and the ends of tokens and gives both, so that a
//! chain works through each id once. A machine holds back only text that later tokens can change.
//! Examples are an end-of-word suffix, which is nothing at the very end, and white space that is
//! stripped at the end. A run of byte tokens is text if all of it is UTF-8, else one U+FFFD for
//! each byte. The beginning of a text that may be replaced waits, too. After `Fuse` or `ByteLevel`
//! there is one token, which ends with the text. Three steps need that end before they say
//! anything: a regular expression, `ByteLevel` after these, and clean-up with an empty word
//! delimiter.
//!
//! The twin that this must equal is [`super::step`], over all tokens at once.

use super::flow::Flow;
use super::machine::Machine;
use super::{Decoder, DecoderConfig, STAGE};
use crate::error::Result;

/// A chain of decoders between two ids.
#[derive(Clone, Debug)]
pub(crate) struct DecoderStream {
    machines: Vec<Machine>,
    flows: [Flow; 2],
    /// Bytes of all tokens, and one for each.
    n_taken: usize,
    n_made: usize,
}

impl DecoderStream {
    pub(crate) fn new(decoder: &Decoder) -> Self {
        let mut is_one = false;
        let mut machines: Vec<Machine> = Vec::with_capacity(decoder.steps.len());
        for (config, _) in &decoder.steps {
            machines.push(Machine::new(config, is_one));
            is_one |= matches!(config, DecoderConfig::Fuse | DecoderConfig::ByteLevel);
        }
        if machines.is_empty() {
            machines.push(Machine::Join {
                n_begun: 0,
                inside: false,
            });
        }
        Self {
            machines,
            flows: Default::default(),
            n_taken: 0,
            n_made: 0,
        }
    }

    /// Appends the text that is final with this token. `decoder` is the one this was made for.
    pub(crate) fn push(&mut self, decoder: &Decoder, token: &str, out: &mut String) -> Result<()> {
        self.flows[0].clear();
        self.flows[0].token(token);
        self.n_taken += token.len() + 1;
        self.run(decoder, false, out)
    }

    /// Appends what has been held back, as it is if no more tokens come.
    pub(crate) fn finish(&mut self, decoder: &Decoder, out: &mut String) -> Result<()> {
        self.flows[0].clear();
        self.run(decoder, true, out)
    }

    fn run(&mut self, decoder: &Decoder, is_last: bool, out: &mut String) -> Result<()> {
        let room = decoder.growth().room(self.n_taken);
        let [mut given, mut made] = std::mem::take(&mut self.flows);
        for (index, machine) in self.machines.iter_mut().enumerate() {
            let config = decoder.steps.get(index).map(|(config, _)| config);
            made.clear();
            for (piece, is_end) in given.pieces() {
                if !piece.is_empty() {
                    machine.text(config, piece, &mut made);
                }
                if is_end {
                    machine.end(decoder, config, index, room, &mut made)?;
                }
                room.check(STAGE, self.n_made + made.text.len())?;
            }
            if is_last {
                machine.finish(config, &mut made);
            }
            std::mem::swap(&mut given, &mut made);
        }
        self.n_made += given.text.len();
        out.push_str(&given.text);
        self.flows = [given, made];
        Ok(())
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
