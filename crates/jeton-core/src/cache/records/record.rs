//! Record of a pretoken: its number of bytes and of ids, the bytes, and the ids.

use crate::cache::key::Role;

/// How many bytes and how many ids a record has, and the role of the bytes, as a number.
#[inline(always)]
fn head(pretoken: &[u8], n_ids: u32, role: Role) -> u32 {
    (role as u32) << 24 | (pretoken.len() as u32) << 16 | n_ids
}

/// The bytes as a record has them: the first four and, as many times four bytes as it takes, the
/// last ones, which may begin before the first four end. So all that follows the first four can be
/// read by sixteen, from both ends. None where sixteen are not left.
#[inline(always)]
fn split(pretoken: &[u8]) -> Option<(u32, &[u8])> {
    let first = u32::from_le_bytes(*pretoken.first_chunk()?);
    let rest = &pretoken[pretoken.len() - (pretoken.len() - 1) / 4 * 4..];
    (rest.len() >= 16).then_some((first, rest))
}

/// The bytes of a shorter one by four, zeros behind the last.
#[inline(always)]
fn by_four(pretoken: &[u8]) -> impl Iterator<Item = u32> {
    pretoken.chunks(4).map(|some| {
        let mut four = [0; 4];
        four[..some.len()].copy_from_slice(some);
        u32::from_le_bytes(four)
    })
}

/// Bits of sixteen bytes that differ from a record's.
#[inline(always)]
fn differing(there: &[u32; 4], here: &[u8; 16]) -> [u32; 4] {
    let (here, _) = here.as_chunks();
    std::array::from_fn(|four| there[four] ^ u32::from_le_bytes(here[four]))
}

/// True if a record has these bytes. All of it without a branch: it has them nearly always.
#[inline(always)]
fn has_bytes(text: &[u32], pretoken: &[u8]) -> bool {
    let Some((first, rest)) = split(pretoken) else {
        return text.iter().copied().eq(by_four(pretoken));
    };
    let Some((&first_there, there)) = text.split_first() else {
        return false;
    };
    let (Some(begin_there), Some(begin)) = (there.first_chunk(), rest.first_chunk()) else {
        return false;
    };
    let mut differs = differing(begin_there, begin);
    differs[0] |= first_there ^ first;
    let ((_, there), (_, here)) = (there.as_rchunks(), rest.as_rchunks());
    for (there, here) in there.iter().zip(here) {
        let more = differing(there, here);
        differs = std::array::from_fn(|four| differs[four] | more[four]);
    }
    differs == [0; 4]
}

/// Ids that are found, and what lies behind them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordIds<'r> {
    n: usize,
    from: &'r [u32],
}

impl<'r> RecordIds<'r> {
    #[inline(always)]
    pub(super) fn new(n: usize, from: &'r [u32]) -> Self {
        Self { n, from }
    }

    /// The ids.
    #[inline(always)]
    pub(crate) fn ids(self) -> Option<&'r [u32]> {
        self.from.get(..self.n)
    }

    /// Puts them where room for them begins; says how many they are, and nothing if there is not
    /// enough.
    ///
    /// Sixteen numbers at once, whichever of them count: how many ids a phrase has cannot be
    /// foreseen.
    #[inline(always)]
    pub(crate) fn copy_to(self, room: &mut [u32]) -> Option<usize> {
        if let (Some(there), Some(here)) =
            (room.first_chunk_mut::<16>(), self.from.first_chunk::<16>())
        {
            *there = *here;
            if self.n <= here.len() {
                return Some(self.n);
            }
        }
        room.get_mut(..self.n)?.copy_from_slice(self.ids()?);
        Some(self.n)
    }
}

/// As many numbers as a record takes.
pub(super) fn len(pretoken: &[u8], n_ids: usize) -> usize {
    1 + pretoken.len().div_ceil(4) + n_ids
}

/// Writes one where there is room for it.
pub(super) fn write(there: &mut [u32], pretoken: &[u8], role: Role, ids: &[u32]) {
    let (first, rest) = there.split_at_mut(1);
    first.fill(head(pretoken, ids.len() as u32, role));
    let (text, of_ids) = rest.split_at_mut(pretoken.len().div_ceil(4));
    let (first_four, rest) = split(pretoken).unzip();
    let fours = first_four
        .into_iter()
        .chain(by_four(rest.unwrap_or(pretoken)));
    for (there, four) in text.iter_mut().zip(fours) {
        *there = four;
    }
    of_ids.copy_from_slice(ids);
}

/// Returns the number of ids of the record at a place, and the numbers from its ids on; `None` if
/// it is another pretoken's.
#[inline(always)]
pub(super) fn read<'r>(
    records: &'r [u32],
    at: usize,
    pretoken: &[u8],
    role: Role,
) -> Option<(u32, &'r [u32])> {
    let (&first, rest) = records.get(at..)?.split_first()?;
    let n_ids = first & 0xFFFF;
    let (text, ids) = rest.split_at_checked(pretoken.len().div_ceil(4))?;
    (first == head(pretoken, n_ids, role) && has_bytes(text, pretoken)).then_some((n_ids, ids))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_of_a_pretoken_tells_it_from_others() {
        for len in 1..=100usize {
            let pretoken: Vec<u8> = (0..len).map(|at| (at * 7 % 251) as u8).collect();
            let ids = [1, 2, 3];
            let mut there = vec![0; super::len(&pretoken, 3)];
            write(&mut there, &pretoken, Role::Pretoken, &ids);
            assert_eq!(
                read(&there, 0, &pretoken, Role::Pretoken),
                Some((3, &ids[..])),
                "{len}"
            );
            assert_eq!(read(&there, 0, &pretoken, Role::Unit), None);
            assert_eq!(read(&there, 0, &pretoken[1..], Role::Pretoken), None);
            for bit in 0..8 * len {
                let mut other = pretoken.clone();
                other[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(
                    read(&there, 0, &other, Role::Pretoken),
                    None,
                    "bit {bit} of {len}"
                );
            }
        }
    }
}
