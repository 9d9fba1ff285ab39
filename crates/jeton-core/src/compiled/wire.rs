//! Numbers, bytes and lists as a compiled file has them: little-endian, each list with its length
//! in front.
//!
//! The head holds everything that is read and checked. A list that stays as it is may be long: the
//! head has only its length. The list itself is in the image behind the head, in memory as in the
//! file.

use xxhash_rust::xxh3::Xxh3;

use super::image;
use super::source::Source;
use crate::documents::parallel::available_threads;
use crate::error::{Error, Result};
use crate::memory::arena::{ArenaVec, HugeArena};
use crate::memory::huge_pages::prepare_pages;
use crate::memory::plain_numbers::{Number, bytes_of};

pub(super) const FORMAT: &str = "compiled tokenizer";

/// Where lists of the image begin, from its beginning on.
const ALIGNMENT: usize = 64;

/// Where the image begins in a file is a multiple of this, so that whole pages are copied to whole
/// pages.
const PAGE: usize = 4 << 10;

/// Most bytes of an image. A vocabulary with the most tokens and bytes fits, and sums of places
/// cannot overflow.
const MAX_IMAGE_BYTES: u64 = 8 << 30;

pub(super) fn bad(reason: impl Into<String>) -> Error {
    Error::format(FORMAT, reason.into())
}

pub(super) fn breaks_off() -> Error {
    bad("it breaks off")
}

/// Bytes to which values are appended.
#[derive(Default)]
pub(super) struct Writer {
    head: Vec<u8>,
    image: Vec<u8>,
}

impl Writer {
    pub(super) fn number(&mut self, value: u64) {
        self.head.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.head.extend_from_slice(bytes);
    }

    pub(super) fn u32s(&mut self, values: impl ExactSizeIterator<Item = u32>) {
        self.number(values.len() as u64);
        self.head.reserve(values.len() * 4);
        values.for_each(|value| self.head.extend_from_slice(&value.to_le_bytes()));
    }

    pub(super) fn u64s(&mut self, values: impl ExactSizeIterator<Item = u64>) {
        self.number(values.len() as u64);
        values.for_each(|value| self.number(value));
    }

    /// A list that the tokenizer keeps.
    pub(super) fn lasting<T: Number>(&mut self, values: &[T]) {
        self.number(values.len() as u64);
        let mut values = values.to_vec();
        values.iter_mut().for_each(Number::take_as_little_endian);
        self.image.extend_from_slice(bytes_of(&mut values));
        self.image
            .resize(self.image.len().next_multiple_of(ALIGNMENT), 0);
    }

    /// All of it, behind what another writer has in its head.
    pub(super) fn behind(self, mut first: Self) -> Self {
        first.head.extend(self.head);
        first.image.extend(self.image);
        first
    }

    /// Returns the length of the head, the head and the image, for a file that has `n_before` bytes
    /// before them.
    pub(super) fn finish(mut self, n_before: usize) -> Vec<u8> {
        let begin = (n_before + 8 + self.head.len()).next_multiple_of(PAGE);
        self.head.resize(begin - n_before - 8, 0);
        let mut payload = (self.head.len() as u64).to_le_bytes().to_vec();
        payload.extend(self.head);
        payload.extend(self.image);
        payload
    }
}

/// The checksum of what [`Writer::finish`] gave: of its head, and of the digests of the image's
/// blocks.
pub(super) fn checksum(payload: &[u8], seed: u64) -> u128 {
    let (length, rest) = payload.split_at(payload.len().min(8));
    let head = length.try_into().map_or(0, u64::from_le_bytes);
    let head = usize::try_from(head).map_or(rest.len(), |head| head.min(rest.len()));
    let (head, image) = rest.split_at(head);
    sum(length, head, &image::digests(image, seed), seed)
}

fn sum(length: &[u8], head: &[u8], digests: &[u8], seed: u64) -> u128 {
    let mut sum = Xxh3::with_seed(seed);
    for part in [length, head, digests] {
        sum.update(part);
    }
    sum.digest128()
}

/// A file that was read, of which values are taken as they come. A length that what is left cannot
/// hold is an error, before anything is reserved.
pub(super) struct Reader {
    head: Vec<u8>,
    /// Bytes of the head that were taken.
    at: usize,
    /// Room for lists that stay; the image's own come first.
    shelf: HugeArena,
}

impl Reader {
    /// Reads what lies between two places of a source, if it has this checksum.
    pub(super) fn read(
        source: &(impl Source + ?Sized),
        place: u64,
        end: u64,
        wanted: u128,
        seed: u64,
    ) -> Result<Self> {
        let mut length = [0; 8];
        source
            .read_at(place, &mut length)
            .map_err(|_| breaks_off())?;
        let head_place = place.saturating_add(8);
        let head_end = u64::from_le_bytes(length).checked_add(head_place);
        let head_end = head_end.filter(|&head_end| head_end <= end);
        let head_end = head_end.ok_or_else(breaks_off)?;
        if end - head_end > MAX_IMAGE_BYTES || !(end - head_end).is_multiple_of(ALIGNMENT as u64) {
            return Err(bad("its lists are none"));
        }
        let too_large = || bad("it is too large for this machine");
        let n_head = usize::try_from(head_end - head_place).map_err(|_| too_large())?;
        let n_image = usize::try_from(end - head_end).map_err(|_| too_large())?;
        let read_head = || {
            let mut head = Vec::new();
            head.try_reserve_exact(n_head).map_err(|_| too_large())?;
            prepare_pages(head.spare_capacity_mut());
            head.resize(n_head, 0);
            source
                .read_at(head_place, &mut head)
                .map_err(|_| breaks_off())?;
            Ok(head)
        };
        let threads = if image::is_large(n_image) {
            available_threads()
        } else {
            1
        };
        let read = |words: &mut [u64]| {
            image::read(source, head_end, bytes_of(words), seed, threads, read_head)
        };
        // Some lists take more room in memory than in the file: offsets of tokens take eight times
        // as much.
        let room = n_head.saturating_add(n_image).saturating_mul(3);
        let read = HugeArena::begun_with(n_image / size_of::<u64>(), room, read);
        let (shelf, read) = read.ok_or_else(too_large)?;
        let (digests, head) = read?;
        if sum(&length, &head, &digests, seed) != wanted {
            return Err(bad("its checksum does not fit: it is damaged"));
        }
        Ok(Self { head, at: 0, shelf })
    }

    /// Where lists lie that stay, for what is made of them.
    pub(super) fn shelf(&mut self) -> &mut HugeArena {
        &mut self.shelf
    }

    /// The bytes of a list of `n` items.
    fn take(&mut self, n: u64, width: usize) -> Result<&[u8]> {
        let n_bytes = usize::try_from(n).ok().and_then(|n| n.checked_mul(width));
        let end = n_bytes.and_then(|n_bytes| n_bytes.checked_add(self.at));
        let start = self.at;
        let taken = end.and_then(|end| Some((self.head.get(start..end)?, end)));
        let (bytes, end) = taken.ok_or_else(breaks_off)?;
        self.at = end;
        Ok(bytes)
    }

    pub(super) fn number(&mut self) -> Result<u64> {
        let bytes = self.take(8, 1)?;
        let eight = bytes.try_into().map_err(|_| breaks_off())?;
        Ok(u64::from_le_bytes(eight))
    }

    pub(super) fn bytes(&mut self) -> Result<&[u8]> {
        let n = self.number()?;
        self.take(n, 1)
    }

    fn list<T: Number>(&mut self) -> Result<Vec<T>> {
        let n = self.number()?;
        let bytes = self.take(n, size_of::<T>())?;
        let mut values = vec![T::default(); bytes.len() / size_of::<T>()];
        bytes_of(&mut values).copy_from_slice(bytes);
        values.iter_mut().for_each(Number::take_as_little_endian);
        Ok(values)
    }

    pub(super) fn u32s(&mut self) -> Result<Vec<u32>> {
        self.list()
    }

    pub(super) fn u64s(&mut self) -> Result<Vec<u64>> {
        self.list()
    }

    /// A list that the tokenizer keeps.
    pub(super) fn lasting<T: Number>(&mut self) -> Result<ArenaVec<T>> {
        let len = usize::try_from(self.number()?).ok();
        let list = len.and_then(|len| self.shelf.next_written(len));
        let mut list: ArenaVec<T> = list.ok_or_else(breaks_off)?;
        list.iter_mut().for_each(Number::take_as_little_endian);
        Ok(list)
    }

    /// True if all was taken. Gives what is left of the shelf.
    pub(super) fn finish(self) -> Result<HugeArena> {
        let rest = self.head.get(self.at..).unwrap_or_default();
        if rest.len() >= PAGE || rest.iter().any(|&byte| byte != 0) || !self.shelf.is_read() {
            return Err(bad("it has more than a tokenizer"));
        }
        Ok(self.shelf)
    }
}
