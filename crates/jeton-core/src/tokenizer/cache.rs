//! The word caches: what they may take, what they take, and how to empty them.
//!
//! They change no id. Everything here takes effect on a tokenizer that other threads use meanwhile.

use super::Tokenizer;

impl Tokenizer {
    /// Bytes that the word caches of all threads may take together.
    pub fn cache_limit_bytes(&self) -> usize {
        self.pool.budget().limit()
    }

    /// Bytes that they take at the moment, in this process.
    pub fn cache_used_bytes(&self) -> usize {
        self.pool.budget().used()
    }

    /// Changes the limit. If more is in use, the caches that nobody uses at the moment are emptied now, and the others
    /// when their calls end.
    pub fn set_cache_limit(&self, bytes: usize) {
        self.pool.budget().set_limit(bytes);
        if self.cache_used_bytes() > bytes {
            self.clear_cache();
        }
    }

    /// Empties the caches that nobody uses at the moment, and gives back the working memory that lies beside them.
    pub fn clear_cache(&self) {
        self.pool.clear();
    }
}
