//! Merges of characters, in a list and by score: when the two do the same.
//!
//! The argument is as in [`super::super::pairs`], with a piece's place in the order of scores for
//! its id. At most one of the pairs that make a piece is ever met.

use std::collections::HashMap;

use crate::models::Model as _;
use crate::models::bpe::{CharacterBpeModel, CharacterBpeOptions, CharacterBpeScratch};
use crate::vocab::Vocab;

/// Pieces that merging can make, as text.
pub(super) struct Pieces<'p> {
    /// (id, text) of pieces that text becomes.
    pub(super) matched: Vec<(u32, &'p str)>,
    ids: HashMap<&'p str, u32>,
}

impl<'p> Pieces<'p> {
    pub(super) fn new(matched: Vec<(u32, &'p str)>) -> Self {
        let ids = matched.iter().map(|&(id, text)| (text, id)).collect();
        Self { matched, ids }
    }

    /// Every pair that makes a text.
    pub(super) fn pairs_of(&self, text: &str) -> Vec<(u32, u32)> {
        let cuts = text.char_indices().skip(1).map(|(at, _)| at);
        cuts.filter_map(|cut| {
            let left = self.ids.get(&text[..cut])?;
            Some((*left, *self.ids.get(&text[cut..])?))
        })
        .collect()
    }

    /// Pieces of several characters of which one is no piece: SentencePiece merges it all the same.
    pub(super) fn with_strange_characters(&self) -> Vec<String> {
        let strange = |c: char| !self.ids.contains_key(c.encode_utf8(&mut [0; 4]) as &str);
        let longer = self.matched.iter().filter(|(_, text)| is_long(text));
        longer
            .filter(|(_, text)| text.chars().any(strange))
            .map(|(_, text)| (*text).to_owned())
            .collect()
    }

    /// Texts of pieces that two lists of merges cut in different ways. Where there is none, the
    /// lists do the same to every text, if one is in the order of the other.
    pub(super) fn cut_differently(&self, one: &[(u32, u32)], two: &[(u32, u32)]) -> Vec<String> {
        let all = || self.matched.iter().map(|(_, text)| (*text).to_owned());
        let model = |merges: &[(u32, u32)]| {
            let mut vocab = Vocab::default();
            for &(id, text) in &self.matched {
                vocab.insert(id, text.as_bytes()).ok()?;
            }
            CharacterBpeModel::new(vocab, merges, CharacterBpeOptions::default()).ok()
        };
        let (Some(one), Some(two)) = (model(one), model(two)) else {
            return all().collect();
        };
        let mut scratch = CharacterBpeScratch::default();
        let mut cut = |model: &CharacterBpeModel, text: &str| {
            let mut ids = Vec::new();
            let done = model.encode_pretoken(text.as_bytes(), &mut scratch, &mut ids);
            done.is_ok().then_some(ids)
        };
        all()
            .filter(|text| is_long(text) && cut(&one, text) != cut(&two, text))
            .collect()
    }

    /// The piece that a pair makes.
    pub(super) fn made(&self, texts: &HashMap<u32, &str>, pair: (u32, u32)) -> Option<u32> {
        let (left, right) = (texts.get(&pair.0)?, texts.get(&pair.1)?);
        self.ids.get(format!("{left}{right}").as_str()).copied()
    }

    pub(super) fn texts(&self) -> HashMap<u32, &'p str> {
        self.matched.iter().copied().collect()
    }
}

/// True if a text has more than one character.
pub(super) fn is_long(text: &str) -> bool {
    text.chars().nth(1).is_some()
}
