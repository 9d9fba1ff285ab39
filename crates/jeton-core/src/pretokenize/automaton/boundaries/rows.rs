//! Rows of 64 characters, whose encodings differ in the last byte only: what is known of all of a
//! row, or of all rows that begin with the same byte. And leaves: two rows, which vectors look up
//! at once.
//!
//! Most rows of most scripts are letters of one kind, so vectors tell the kinds of a whole block
//! from the first bytes of its characters. The first byte decides most Chinese and Korean
//! characters, the second byte others. The few leaves that are left in a block are looked up one by
//! one, each for all of its characters. Alphabets of up to 128 characters are a leaf or two.

use crate::pretokenize::automaton::classes::Characters;

/// In place of a kind: there is more than one. The highest bit, which no kind has.
pub(super) const MIXED: u8 = 0x80;
/// Bytes that begin a character of three, and bytes that may come second.
const N_LEADS: usize = 16;
const N_SECOND: usize = 64;

/// Kinds of three-byte characters by their first bytes.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// The kind of all characters that begin with a byte, by its lower half; or [`MIXED`].
    pub(super) leads: [u8; N_LEADS],
    /// The kind of all characters of a row, by the lower half of the first byte and the lower bits
    /// of the second; or [`MIXED`].
    pub(super) seconds: [[u8; N_SECOND]; N_LEADS],
}

impl Rows {
    /// Builds the rows from characters whose kinds are known.
    pub(super) fn new(kinds: &Characters) -> Self {
        let mut seconds = [[MIXED; N_SECOND]; N_LEADS];
        for (row, number) in seconds.as_flattened_mut().iter_mut().zip(0..) {
            *row = one_of(kinds.row(number));
        }
        Self {
            leads: seconds.each_ref().map(one_of),
            seconds,
        }
    }
}

/// Leaves and first bytes that came last. Most of a text has few of them, so vectors look all of
/// these up. A branch on each could not be predicted.
#[derive(Debug, Default)]
pub(super) struct Recent {
    /// First bytes of three, of which the second tells the kind.
    leads: [u8; 2],
    leaves: [Leaf; 4],
    /// How many of each were taken in; where there is no more room, they take the places of others
    /// in turn.
    n_leads: usize,
    n_leaves: usize,
}

/// A leaf of characters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leaf {
    /// The byte that they begin with, if they have three, or 0 if they have two.
    pub(super) lead: u8,
    /// The last but one, with its lowest bit set, which says which of the two rows it is.
    pub(super) middle: u8,
    /// Where their kinds are.
    pub(super) place: usize,
}

impl Leaf {
    /// Returns the leaf of the character that begins with these two bytes and has two or three.
    #[inline(always)]
    pub(super) fn of(lead: u8, next: u8, characters: &Characters) -> Self {
        let (number, lead, middle) = if lead < 0xE0 {
            (u32::from(lead & 0x1F), 0, lead)
        } else {
            let number = u32::from(lead & 0x0F) << 6 | u32::from(next & 0x3F);
            (number, lead, next)
        };
        Self {
            lead,
            middle: middle | 1,
            place: characters.leaf_place(number >> 1),
        }
    }
}

impl Recent {
    #[inline(always)]
    pub(super) fn leads(&self) -> &[u8] {
        &self.leads[..self.n_leads.min(self.leads.len())]
    }

    /// The leaf that came first, mostly the text's alphabet, and the others.
    #[inline(always)]
    pub(super) fn leaves(&self) -> (Option<&Leaf>, &[Leaf]) {
        match &self.leaves[..self.n_leaves.min(self.leaves.len())] {
            [first, others @ ..] => (Some(first), others),
            [] => (None, &[]),
        }
    }

    pub(super) fn take_lead(&mut self, lead: u8) {
        self.leads[self.n_leads % self.leads.len()] = lead;
        self.n_leads += 1;
    }

    pub(super) fn take_leaf(&mut self, leaf: Leaf) {
        self.leaves[self.n_leaves % self.leaves.len()] = leaf;
        self.n_leaves += 1;
    }
}

/// Kind that all of them have, or [`MIXED`].
fn one_of(kinds: &[u8; N_SECOND]) -> u8 {
    let [first, ..] = *kinds;
    // All of them without a branch: vectors do it.
    let differs = kinds.iter().fold(0, |differs, kind| differs | kind ^ first);
    if differs == 0 { first } else { MIXED }
}
