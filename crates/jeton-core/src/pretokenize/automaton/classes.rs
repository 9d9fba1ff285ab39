//! Characters as classes: the alphabet of an automaton.
//!
//! Characters that no set of the pattern separates share a class. ASCII is looked up in one table
//! of 256 bytes, other characters in a two-level table whose equal blocks are shared (a few
//! kilobytes in all).

use std::collections::HashMap;

use regex_syntax::hir::ClassUnicode;

use super::BuildError;
use crate::codec::gpt2_alphabet::byte_to_char;
use crate::pretokenize::pattern::Ast;

/// Most classes of characters a pattern may distinguish; published patterns have fewer than 32.
const MAX_CLASSES: usize = 250;

/// In the table of single bytes: the byte begins a longer character. Classes stay below it.
pub(super) const WIDE: u8 = u8::MAX;

#[inline]
fn char_width(lead: u8) -> usize {
    match lead {
        0..0x80 => 1,
        0x80..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}

/// Maps characters to classes.
#[derive(Clone, Debug)]
pub(super) struct ClassMap {
    /// Class of each byte that is a character by itself; [`WIDE`] for bytes of longer characters.
    pub(super) single: [u8; 256],
    /// Index of the block of 128 characters, by code point / 128.
    blocks: Vec<u16>,
    /// The distinct blocks, 128 classes each.
    table: Vec<u8>,
    n_classes: u8,
    /// The sets of the pattern, each with the classes that make it up.
    sets: Vec<(ClassUnicode, Vec<u8>)>,
}

/// Classes of characters in columns, as a compiled file keeps them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawClasses {
    pub(crate) single: Vec<u8>,
    pub(crate) blocks: Vec<u32>,
    pub(crate) table: Vec<u8>,
    pub(crate) n_classes: u64,
}

/// Something that is known of each character, in the two-level table that its class is in.
#[derive(Clone, Debug)]
pub(super) struct Characters {
    blocks: Vec<u16>,
    table: Vec<u8>,
}

impl Characters {
    /// Builds the map; `blocks` gives the part of the table of each block of 128 characters.
    #[cfg(test)]
    pub(super) fn from_parts(blocks: Vec<u16>, table: Vec<u8>) -> Self {
        Self { blocks, table }
    }

    /// Returns the class of a code point.
    #[inline(always)]
    pub(super) fn get(&self, code: u32) -> u8 {
        let block = self.blocks.get(code as usize >> 7).copied().unwrap_or(0);
        let place = usize::from(block) << 7 | (code as usize & 127);
        self.table.get(place).copied().unwrap_or(0)
    }

    /// Returns the classes of the 64 characters from code point `64 * number` on.
    #[inline(always)]
    pub(super) fn row(&self, number: u32) -> &[u8; 64] {
        let (rows, _) = self.leaf_at(self.leaf_place(number >> 1)).as_chunks();
        &rows[number as usize & 1]
    }

    /// Where it is said what is known of the 128 characters whose code points are 128 times this
    /// number and more.
    #[inline(always)]
    pub(super) fn leaf_place(&self, number: u32) -> usize {
        usize::from(self.blocks.get(number as usize).copied().unwrap_or(0))
    }

    /// Returns the leaf at a place.
    #[inline(always)]
    pub(super) fn leaf_at(&self, place: usize) -> &[u8; 128] {
        let (leaves, _) = self.table.as_chunks();
        leaves.get(place).unwrap_or(&[0; 128])
    }
}

impl ClassMap {
    /// Returns the value of each character by its class.
    pub(super) fn characters(&self, of_class: &[u8]) -> Characters {
        let of = |&class: &u8| of_class.get(usize::from(class)).copied().unwrap_or(0);
        Characters {
            blocks: self.blocks.clone(),
            table: self.table.iter().map(of).collect(),
        }
    }

    /// Returns the value of each class, where its characters have one.
    pub(super) fn by_class(&self, characters: &Characters) -> Vec<u8> {
        let mut known = vec![0; usize::from(self.n_classes)];
        for (&class, &value) in self.table.iter().zip(&characters.table) {
            known[usize::from(class)] = value;
        }
        known
    }

    /// Its columns. The sets of the pattern are needed no more once there is an automaton.
    pub(super) fn to_raw(&self) -> RawClasses {
        RawClasses {
            single: self.single.to_vec(),
            blocks: self.blocks.iter().copied().map(u32::from).collect(),
            table: self.table.clone(),
            n_classes: u64::from(self.n_classes),
        }
    }

    /// Reads the classes that [`Self::to_raw`] gave; None if they do not cover all characters, or
    /// all bytes.
    pub(super) fn from_raw(raw: &RawClasses, sees_bytes: bool) -> Option<Self> {
        let n_classes = u8::try_from(raw.n_classes).ok()?;
        let single: [u8; 256] = raw.single.as_slice().try_into().ok()?;
        let is_class = |&class: &u8| class < n_classes;
        // Where bytes are seen, each byte is a character; otherwise each ASCII byte is.
        let n_single = if sees_bytes { 256 } else { 128 };
        let (characters, others) = single.split_at(n_single);
        let n_blocks = raw.table.len() / 128;
        let block = |&block: &u32| {
            let inside = (block as usize) < n_blocks;
            u16::try_from(block).ok().filter(|_| inside)
        };
        let is_sound = (1..=MAX_CLASSES).contains(&usize::from(n_classes))
            && n_blocks > 0
            && characters.iter().chain(&raw.table).all(is_class)
            && others.iter().all(|&class| class == WIDE);
        is_sound.then_some(())?;
        Some(Self {
            single,
            blocks: raw.blocks.iter().map(block).collect::<Option<_>>()?,
            table: raw.table.clone(),
            n_classes,
            sets: Vec::new(),
        })
    }

    pub(super) fn new(ast: &Ast) -> Result<Self, BuildError> {
        let mut sets: Vec<ClassUnicode> = Vec::new();
        collect_sets(ast, &mut sets);
        // Atoms: maximal sets of characters that no set of the pattern separates. Sweep over the
        // ends of all ranges; the combination of sets that cover a stretch identifies its atom.
        let mut edges: Vec<(u32, usize)> = Vec::new();
        for (index, set) in sets.iter().enumerate() {
            for range in set.ranges() {
                edges.push((range.start() as u32, index));
                edges.push((range.end() as u32 + 1, index));
            }
        }
        edges.sort_unstable();
        let mut covered = vec![false; sets.len()];
        let mut atoms: HashMap<Vec<bool>, u8> = HashMap::new();
        atoms.insert(covered.clone(), 0);
        let mut members: Vec<Vec<u8>> = vec![Vec::new(); sets.len()];
        let mut by_block = BlockTable::default();
        let mut from = 0u32;
        let mut at = 0;
        while from < 0x11_0000 {
            while at < edges.len() && edges[at].0 == from {
                covered[edges[at].1] ^= true;
                at += 1;
            }
            let to = edges.get(at).map_or(0x11_0000, |edge| edge.0);
            let next = atoms.len();
            let atom = match atoms.get(&covered) {
                Some(&atom) => atom,
                None if next >= MAX_CLASSES => return Err(BuildError::TooLarge),
                None => {
                    atoms.insert(covered.clone(), next as u8);
                    for (member, _) in members
                        .iter_mut()
                        .zip(&covered)
                        .filter(|(_, covered)| **covered)
                    {
                        member.push(next as u8);
                    }
                    next as u8
                }
            };
            by_block.fill(from, to, atom);
            from = to;
        }
        let (blocks, table) = by_block.finish();
        let mut single = [WIDE; 256];
        single[..128].copy_from_slice(&table[blocks[0] as usize * 128..][..128]);
        let n_classes = atoms.len() as u8;
        Ok(Self {
            single,
            blocks,
            table,
            n_classes,
            sets: sets.into_iter().zip(members).collect(),
        })
    }

    /// Takes every byte for the character that GPT-2's alphabet writes it as.
    pub(super) fn see_bytes(&mut self) {
        for byte in 0..=255u8 {
            let code = byte_to_char(byte) as usize;
            self.single[byte as usize] =
                self.table[self.blocks[code >> 7] as usize * 128 + (code & 127)];
        }
    }

    /// Bytes of the character that starts with this byte.
    pub(super) fn width(&self, lead: u8) -> usize {
        if self.single[lead as usize] == WIDE {
            char_width(lead)
        } else {
            1
        }
    }

    /// The class of the character before a place, or the end's class if there is none.
    pub(super) fn before(&self, text: &[u8], place: usize) -> u8 {
        let mut start = place;
        while let Some(before) = start.checked_sub(1) {
            start = before;
            match self.single[usize::from(text[start])] {
                // The rest of a longer character.
                WIDE if text[start] & 0xC0 == 0x80 => {}
                WIDE => return self.wide(text, start).0,
                class => return class,
            }
        }
        self.end_class()
    }

    pub(super) fn end_class(&self) -> u8 {
        self.n_classes
    }

    /// Class and width of the multi-byte character at `position` of valid UTF-8.
    #[inline]
    pub(super) fn wide(&self, text: &[u8], position: usize) -> (u8, usize) {
        let low =
            |offset: usize| u32::from(text.get(position + offset).copied().unwrap_or(0) & 0x3F);
        let lead = u32::from(text[position]);
        let (code, width) = if lead < 0xE0 {
            ((lead & 0x1F) << 6 | low(1), 2)
        } else if lead < 0xF0 {
            ((lead & 0x0F) << 12 | low(1) << 6 | low(2), 3)
        } else {
            ((lead & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3), 4)
        };
        let block = self.blocks.get(code as usize >> 7).copied().unwrap_or(0);
        (
            self.table[block as usize * 128 + (code as usize & 127)],
            width,
        )
    }

    /// For each class, whether there are characters of it: code points that are none (surrogates)
    /// have a class too, often one of their own.
    pub(super) fn occurring(&self) -> Vec<bool> {
        let surrogates = 0xD800 >> 7..0xE000 >> 7;
        let mut used = vec![false; self.table.len() / 128];
        for (number, &block) in self.blocks.iter().enumerate() {
            used[block as usize] |= !surrogates.contains(&number);
        }
        let mut occurring = vec![false; self.n_classes as usize];
        for (block, _) in self
            .table
            .chunks_exact(128)
            .zip(used)
            .filter(|(_, used)| *used)
        {
            block
                .iter()
                .for_each(|&class| occurring[class as usize] = true);
        }
        occurring
    }

    pub(super) fn members(&self, set: &ClassUnicode) -> &[u8] {
        self.sets
            .iter()
            .find(|(known, _)| known == set)
            .map_or(&[], |(_, members)| members)
    }
}

/// Builds the two-level table, sharing equal blocks.
#[derive(Default)]
struct BlockTable {
    current: Vec<u8>,
    blocks: Vec<u16>,
    table: Vec<u8>,
    known: HashMap<Vec<u8>, u16>,
    /// Blocks of one class, which most are: the class and the block's index.
    uniform: Vec<(u8, u16)>,
}

impl BlockTable {
    fn fill(&mut self, from: u32, to: u32, class: u8) {
        let mut left = (to - from) as usize;
        while left > 0 {
            if left >= 128
                && self.current.is_empty()
                && let Some(&(_, index)) = self.uniform.iter().find(|(of, _)| *of == class)
            {
                self.blocks.extend(std::iter::repeat_n(index, left / 128));
                left %= 128;
                continue;
            }
            let is_uniform = left >= 128 && self.current.is_empty();
            let take = left.min(128 - self.current.len());
            self.current.resize(self.current.len() + take, class);
            left -= take;
            if self.current.len() == 128 {
                let block = std::mem::take(&mut self.current);
                let index = match self.known.get(&block) {
                    Some(&index) => index,
                    None => {
                        let index = self.known.len() as u16;
                        self.table.extend_from_slice(&block);
                        self.known.insert(block, index);
                        index
                    }
                };
                if is_uniform {
                    self.uniform.push((class, index));
                }
                self.blocks.push(index);
            }
        }
    }

    fn finish(self) -> (Vec<u16>, Vec<u8>) {
        (self.blocks, self.table)
    }
}

fn collect_sets(ast: &Ast, sets: &mut Vec<ClassUnicode>) {
    match ast {
        Ast::Class(class)
        | Ast::NextIs(class)
        | Ast::NextIsNot(class)
        | Ast::LastIs(class)
        | Ast::LastIsNot(class) => {
            if !sets.contains(class) {
                sets.push(class.clone());
            }
        }
        Ast::Concat(nodes) | Ast::Alternate(nodes) => {
            nodes.iter().for_each(|node| collect_sets(node, sets));
        }
        Ast::Repeat { node, .. } => collect_sets(node, sets),
        Ast::Empty | Ast::End => {}
    }
}
