//! Limits of a tokenizer: memory of its word caches, and growth of a text.
//!
//! Neither changes an id. Everything here takes effect on a tokenizer that other threads use
//! meanwhile.

use super::Tokenizer;
use crate::engine::Engine;

impl Tokenizer {
    /// Bytes that the word caches of all threads may take together.
    pub fn cache_limit_bytes(&self) -> usize {
        self.pool.budget().limit()
    }

    /// Bytes that they take at the moment, in this process.
    pub fn cache_used_bytes(&self) -> usize {
        self.pool.budget().used()
    }

    /// Changes the limit. If more is in use, the caches that nobody uses at the moment are emptied
    /// now, and the others when their calls end.
    pub fn set_cache_limit(&self, bytes: usize) {
        self.pool.budget().set_limit(bytes);
        if self.cache_used_bytes() > bytes {
            self.clear_cache();
        }
    }

    /// Times its length that a text may become when it is normalized or decoded, beside 64 KiB.
    pub fn growth_limit(&self) -> u32 {
        self.normalizer.growth().times()
    }

    /// Changes that.
    pub fn set_growth_limit(&self, times: u32) {
        self.normalizer.growth().set(times);
        if let Some(decoder) = &self.decoder {
            decoder.growth().set(times);
        }
        if let Engine::SentencePiece(engine) = &self.engine {
            engine.processor.normalizer().growth().set(times);
        }
    }

    /// Empties the caches that nobody uses at the moment, and gives back the working memory that
    /// lies beside them.
    pub fn clear_cache(&self) {
        self.pool.clear();
    }
}
