//! All words, cut by the merges so far, outside of memory.
//!
//! Each round reads them, applies the merges of the round before and writes them again. Most words
//! no longer change, so this costs less than encoding all of them anew with all merges. With
//! smaller steps of the floor 141 s became 43 (`python -m benches.many_words --distinct 2000000
//! --max-memory 64000000`).

use jeton_core::codec::leb128::{put_varint, take_varint};
use jeton_core::error::{Error, Result};

/// Bytes beside memory: written once from the beginning to the end, then read so as often as
/// wanted.
pub trait Scratch {
    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;
    /// Reads from the beginning from now on.
    fn rewind(&mut self) -> Result<()>;
    /// Reads as many of the next bytes as there is room for.
    fn read(&mut self, bytes: &mut [u8]) -> Result<()>;
}

/// Bytes that are written or read at a time, about.
const BLOCK_BYTES: usize = 256 << 10;

/// Words of two tokens or more, and how often each occurs; a word of one token has no merges left.
///
/// A block is its length (u32) and its words, a word is varints: count, number of tokens, tokens.
pub(super) struct Words {
    scratch: Box<dyn Scratch>,
    block: Vec<u8>,
    n_blocks: u64,
    len: u64,
}

impl Words {
    pub(super) fn new(scratch: Box<dyn Scratch>) -> Self {
        Self {
            scratch,
            block: Vec::new(),
            n_blocks: 0,
            len: 0,
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    #[inline]
    pub(super) fn push(&mut self, tokens: &[u32], count: u64) -> Result<()> {
        if tokens.len() < 2 {
            return Ok(());
        }
        self.len += 1;
        put_varint(&mut self.block, count);
        put_varint(&mut self.block, tokens.len() as u64);
        for &token in tokens {
            put_varint(&mut self.block, u64::from(token));
        }
        if self.block.len() >= BLOCK_BYTES {
            self.write_block()?;
        }
        Ok(())
    }

    fn write_block(&mut self) -> Result<()> {
        let len = u32::try_from(self.block.len())
            .map_err(|_| Error::training("a pretoken has more than 4 GB\nhint: split the text"))?;
        self.scratch.write(&len.to_le_bytes())?;
        self.scratch.write(&self.block)?;
        self.block.clear();
        self.n_blocks += 1;
        Ok(())
    }

    /// Writes what is not written yet. Then they can be read.
    pub(super) fn finish(&mut self) -> Result<()> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        self.block = Vec::new();
        Ok(())
    }

    /// Calls `each` with the tokens of every word, which may be changed, and its count.
    pub(super) fn each(
        &mut self,
        each: &mut dyn FnMut(&mut Vec<u32>, u64) -> Result<()>,
    ) -> Result<()> {
        self.scratch.rewind()?;
        let (mut block, mut tokens) = (Vec::new(), Vec::new());
        for _ in 0..self.n_blocks {
            let mut len = [0; 4];
            self.scratch.read(&mut len)?;
            block.resize(u32::from_le_bytes(len) as usize, 0);
            self.scratch.read(&mut block)?;
            let mut at = 0;
            while at < block.len() {
                let count = word(&block, &mut at, &mut tokens).ok_or_else(|| {
                    Error::training(
                        "a temporary file changed while it was read\n\
                         hint: does something else write to the folder of temporary files, or is its disk broken?",
                    )
                })?;
                each(&mut tokens, count)?;
            }
        }
        Ok(())
    }
}

/// Reads a word's tokens; returns its count.
#[inline]
fn word(block: &[u8], at: &mut usize, tokens: &mut Vec<u32>) -> Option<u64> {
    let count = take_varint(block, at)?;
    let n_tokens = take_varint(block, at)?;
    tokens.clear();
    for _ in 0..n_tokens {
        tokens.push(u32::try_from(take_varint(block, at)?).ok()?);
    }
    Some(count)
}
