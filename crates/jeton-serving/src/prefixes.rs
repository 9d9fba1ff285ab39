//! Beginnings of prompts that stay in the KV cache for requests to come.
//!
//! A prompt is cut into blocks; requests whose first blocks have the same numbers begin with the
//! same text. A block can be used from the end of the step that read it. While requests use it, it
//! takes its memory once; when the last has ended it stays, and counts as free. Where memory is
//! wanted, blocks that nobody uses go, those least recently used first and of a request its last
//! ones first (vLLM's order: github.com/vllm-project/vllm/issues/2614, read 2026-11-22).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

/// Blocks of all prompts, in whole pages.
#[derive(Clone, Debug)]
pub struct PromptBlocks {
    /// Where the blocks of each prompt begin and end.
    pub offsets: Vec<usize>,
    /// Numbers of the blocks.
    pub numbers: Vec<i64>,
    /// Tokens of a block.
    pub block_tokens: i64,
    /// Memory of a block.
    pub block_bytes: i64,
}

impl PromptBlocks {
    /// True if there are blocks of `n` prompts, and those of each follow those of the one before.
    pub fn are_of(&self, n: usize) -> bool {
        self.offsets.len() == n + 1
            && self.offsets.is_sorted()
            && self.offsets.last() == Some(&self.numbers.len())
    }

    fn of(&self, request: usize) -> &[i64] {
        &self.numbers[self.offsets[request]..self.offsets[request + 1]]
    }
}

/// State of a block that is in memory.
#[derive(Clone, Copy, Debug)]
enum Held {
    /// It has so many users.
    Used(u32),
    /// Nobody has used it since this moment.
    Idle(u64),
}

/// Blocks in use, by the number of their users, and blocks that nobody uses, in their order.
#[derive(Clone, Debug)]
pub(crate) struct PrefixCache {
    blocks: PromptBlocks,
    held: HashMap<i64, Held>,
    // Blocks in the order in which their last users left; entries of blocks in use are stale.
    left: VecDeque<(u64, i64)>,
    n_left: u64,
    n_idle: i64,
    mine: HashMap<usize, Vec<i64>>,
    n_shared: i64,
}

impl PrefixCache {
    pub(crate) fn new(blocks: PromptBlocks) -> Self {
        Self {
            blocks,
            held: HashMap::new(),
            left: VecDeque::new(),
            n_left: 0,
            n_idle: 0,
            mine: HashMap::new(),
            n_shared: 0,
        }
    }

    /// Tokens of a block.
    pub(crate) fn block_tokens(&self) -> i64 {
        self.blocks.block_tokens
    }

    /// Memory of a block.
    pub(crate) fn block_bytes(&self) -> i64 {
        self.blocks.block_bytes
    }

    /// Uses of blocks beyond their first: blocks that would be there again without the cache.
    pub(crate) fn n_shared(&self) -> i64 {
        self.n_shared
    }

    /// Returns how many of a request's first blocks are there, and how many of those are in use.
    ///
    /// At least one token of the context is left to be read: scores are computed at the last one.
    pub(crate) fn find(&self, request: usize, prompt_tokens: i64, context: i64) -> (i64, i64) {
        let size = self.blocks.block_tokens;
        let most = (prompt_tokens / size).min((context - 1) / size);
        let (mut n, mut in_use) = (0, 0);
        for block in self.blocks.of(request).iter().take(most as usize) {
            match self.held.get(block) {
                Some(Held::Used(_)) => in_use += 1,
                Some(Held::Idle(_)) => {}
                None => break,
            }
            n += 1;
        }
        (n, in_use)
    }

    /// Lets a request use its first blocks, which `find` found.
    pub(crate) fn take(&mut self, request: usize, n_blocks: i64) {
        let mine = self.blocks.of(request)[..n_blocks as usize].to_vec();
        for &block in &mine {
            let users = match self.held.get(&block) {
                Some(&Held::Used(users)) => {
                    self.n_shared += 1;
                    users
                }
                Some(Held::Idle(_)) => {
                    self.n_idle -= 1;
                    0
                }
                None => 0,
            };
            self.held.insert(block, Held::Used(users + 1));
        }
        self.mine.insert(request, mine);
    }

    /// Keeps the blocks that a request has read to their ends with tokens `start` to `end`.
    ///
    /// A block that two requests read at the same time is kept once.
    pub(crate) fn store(&mut self, request: usize, prompt_tokens: i64, start: i64, end: i64) {
        let size = self.blocks.block_tokens;
        let blocks = self.blocks.of(request);
        let last = ((end.min(prompt_tokens) / size) as usize).min(blocks.len());
        let Some(read) = blocks.get((start / size) as usize..last) else {
            return;
        };
        for &block in read {
            if let Entry::Vacant(place) = self.held.entry(block) {
                place.insert(Held::Used(1));
                self.mine.entry(request).or_default().push(block);
            }
        }
    }

    /// Lets a request go; returns the memory of its blocks that others still use.
    pub(crate) fn release(&mut self, request: usize) -> i64 {
        let mut in_use = 0;
        for block in self
            .mine
            .remove(&request)
            .unwrap_or_default()
            .into_iter()
            .rev()
        {
            if let Some(Held::Used(users)) = self.held.get_mut(&block)
                && *users > 1
            {
                *users -= 1;
                in_use += 1;
                continue;
            }
            self.n_left += 1;
            self.n_idle += 1;
            self.held.insert(block, Held::Idle(self.n_left));
            self.left.push_back((self.n_left, block));
        }
        self.n_shared -= in_use;
        if self.left.len() > 2 * self.n_idle as usize + 1024 {
            let held = &self.held;
            self.left
                .retain(|(moment, block)| is_idle(held, *block, *moment));
        }
        in_use * self.blocks.block_bytes
    }

    /// Forgets blocks that nobody uses until the rest fit what is free.
    pub(crate) fn evict(&mut self, free_bytes: i64) {
        let most = free_bytes.div_euclid(self.blocks.block_bytes);
        while self.n_idle > most.max(0) {
            let Some((moment, block)) = self.left.pop_front() else {
                break;
            };
            if is_idle(&self.held, block, moment) {
                self.held.remove(&block);
                self.n_idle -= 1;
            }
        }
    }
}

/// True if nobody has used a block since this moment.
fn is_idle(held: &HashMap<i64, Held>, block: i64, moment: u64) -> bool {
    matches!(held.get(&block), Some(&Held::Idle(since)) if since == moment)
}
