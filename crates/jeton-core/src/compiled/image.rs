//! The lists of a compiled file that stay as they are: read to where they lie, by two threads where
//! there are two.
//!
//! The image is most of a file, and reading it is most of loading: the system zeroes pages, then
//! copies bytes into them. Each block is hashed while it is in the processor's cache. The other
//! thread reads blocks from the end, so that the two do not wait for the same huge page; it lives
//! as long as the call.

use std::sync::Mutex;
use std::thread::{Builder, ScopedJoinHandle};

use xxhash_rust::xxh3::{Xxh3, xxh3_128_with_seed};

use super::source::Source;
use super::wire::breaks_off;
use crate::error::Result;
use crate::memory::huge_pages::prepare_pages;

/// Bytes that have a digest of their own.
const BLOCK_BYTES: usize = 128 << 10;

/// Bytes of a block that are read and hashed at once, while they are near: whole blocks took longer
/// on one machine (docs/log/engine-2026-11.md). Half and twice as many do the same
/// (docs/log/2026-11-28-tuning-constants.md).
const PART_BYTES: usize = 32 << 10;

/// Bytes of a digest.
const DIGEST_BYTES: usize = 16;

/// Bytes for which another thread is started: it begins too late for a smaller image
/// (docs/log/2026-11-28-tuning-constants.md).
const MIN_BYTES_FOR_THREADS: usize = 4 << 20;

/// True if another thread is worth its while.
pub(super) fn is_large(n_bytes: usize) -> bool {
    n_bytes >= MIN_BYTES_FOR_THREADS
}

/// (Index, (bytes of the block, slot of its digest)).
type Block<'b> = (usize, (&'b mut [u8], &'b mut [u8]));

fn digest(block: &[u8], seed: u64) -> [u8; DIGEST_BYTES] {
    xxh3_128_with_seed(block, seed).to_le_bytes()
}

/// The digests of an image's blocks, one behind the other.
pub(super) fn digests(image: &[u8], seed: u64) -> Vec<u8> {
    let blocks = image.chunks(BLOCK_BYTES);
    blocks.flat_map(|block| digest(block, seed)).collect()
}

/// Reads an image at `place` of the source and returns its [`digests`]. `before` runs on this
/// thread first, while the other thread already reads.
pub(super) fn read<T>(
    source: &(impl Source + ?Sized),
    place: u64,
    image: &mut [u8],
    seed: u64,
    threads: usize,
    before: impl FnOnce() -> Result<T>,
) -> Result<(Vec<u8>, T)> {
    let mut digests = vec![0; image.len().div_ceil(BLOCK_BYTES) * DIGEST_BYTES];
    let blocks = image.chunks_mut(BLOCK_BYTES);
    let blocks = blocks.zip(digests.chunks_mut(DIGEST_BYTES)).enumerate();
    let blocks = Mutex::new(blocks);
    let read_block = |(n, (block, place_of_digest)): Block<'_>| -> Result<()> {
        prepare_pages(block);
        let at = place.saturating_add((n * BLOCK_BYTES) as u64);
        let mut digest = Xxh3::with_seed(seed);
        for (at, part) in (at..).step_by(PART_BYTES).zip(block.chunks_mut(PART_BYTES)) {
            source.read_at(at, part).map_err(|_| breaks_off())?;
            digest.update(part);
        }
        place_of_digest.copy_from_slice(&digest.digest128().to_le_bytes());
        Ok(())
    };
    let first = || blocks.lock().ok().and_then(|mut blocks| blocks.next());
    let last = || blocks.lock().ok().and_then(|mut blocks| blocks.next_back());
    let result = if threads < 2 {
        let result = before()?;
        std::iter::from_fn(first).try_for_each(read_block)?;
        result
    } else {
        std::thread::scope(|scope| {
            // Where no thread can be started, all is read here.
            let other = Builder::new()
                .spawn_scoped(scope, || std::iter::from_fn(last).try_for_each(read_block));
            let result = before()?;
            std::iter::from_fn(first).try_for_each(read_block)?;
            match other.map(ScopedJoinHandle::join) {
                Ok(Ok(is_read)) => is_read?,
                Ok(Err(_)) => return Err(breaks_off()),
                Err(_) => {}
            }
            Ok(result)
        })?
    };
    Ok((digests, result))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// The naive twin is a copy of the bytes and their digests.
        #[test]
        fn an_image_is_read_as_it_is(
            n in 0..5 * BLOCK_BYTES,
            before in 0..100_usize,
            seed in any::<u64>(),
            missing in 0..3_usize,
        ) {
            let bytes: Vec<u8> = (0..n + before).map(|at| (at * at / 7) as u8).collect();
            for threads in 1..3 {
                let mut image = vec![0; n];
                let source = &bytes[..(n + before).saturating_sub(missing)];
                let read = read(source, before as u64, &mut image, seed, threads, || Ok(7));
                if missing > 0 && n > 0 {
                    prop_assert!(read.is_err());
                    continue;
                }
                let (found, seven) = read?;
                prop_assert_eq!(&image, &bytes[before..]);
                prop_assert_eq!(found, digests(&image, seed));
                prop_assert_eq!(seven, 7);
            }
        }
    }

    #[test]
    fn what_fails_before_fails() {
        for threads in 1..3 {
            let source: &[u8] = &[];
            assert!(
                read(
                    source,
                    0,
                    &mut [],
                    0,
                    threads,
                    || Err::<(), _>(breaks_off())
                )
                .is_err()
            );
        }
    }
}
