//! `WordPiece`: the longest token that fits, again and again, or the unknown token for the whole
//! word.
//!
//! A word's first token is looked for as it stands in the vocabulary; the others with a prefix
//! (`##`) that the text does not have. A word with more characters than a limit, or with a place
//! where no token fits, becomes the unknown token as a whole. Schuster and Nakajima, "Japanese and
//! Korean Voice Search" (ICASSP 2012). The segmentation is the one of BERT and of `tokenizers`.
//!
//! Cost: linear in the word, for any vocabulary and any limit (see `longest_match`).

#[cfg(test)]
mod naive;

use crate::error::{Error, ErrorKind, Result};
use crate::models::longest_match::{LongestMatch, Piece, PopStack};
use crate::models::{Model, spans_of_lengths};
use crate::vocab::Vocab;

/// Most characters of a word, in BERT's own code and in `tokenizers` unless a file says otherwise.
pub const DEFAULT_MAX_CHARS: usize = 100;
/// Prefix of a token that continues a word, unless a file says otherwise.
pub const DEFAULT_PREFIX: &str = "##";

/// Longest word, in bytes, whose tokens are looked up in the vocabulary ...
const MAX_LOOKED_UP: usize = 24;
/// ... with at most this many lookups, whatever the word is. New words of English take five in the
/// mean, of medical text nine (counted in 6 MB of each, 2026-11-24).
const MAX_LOOKUPS: usize = 48;
/// Longest prefix with which they are.
const MAX_PREFIX: usize = 8;

/// A `WordPiece` model.
#[derive(Debug)]
pub struct WordPieceModel {
    vocab: Vocab,
    matcher: LongestMatch,
    prefix: String,
    max_chars: usize,
    unknown: Option<u32>,
    /// True if tokens of short words may be looked up: the vocabulary says of most texts at once
    /// that they are none, and which token each of the others is.
    looks_up: bool,
}

/// Memory reused between words.
#[derive(Debug, Default)]
pub struct WordPieceScratch {
    stack: PopStack,
    pieces: Vec<Piece>,
}

impl WordPieceModel {
    /// Builds the model.
    ///
    /// `prefix` marks the tokens that continue a word; `max_chars` is the most characters of a
    /// word; `unknown` is the id of the unknown token. Without one, a word that cannot be encoded
    /// is an error.
    pub fn new(
        vocab: Vocab,
        prefix: impl Into<String>,
        max_chars: usize,
        unknown: Option<u32>,
    ) -> Result<Self> {
        if let Some(id) = unknown
            && vocab.id_to_bytes(id).is_none()
        {
            return Err(Error::format(
                "WordPiece model",
                format!("the unknown token's id {id} has no token"),
            ));
        }
        let prefix = prefix.into();
        let matcher = Self::compile(&vocab, prefix.as_bytes())?;
        let looks_up = vocab.is_packed() && vocab.is_unique() && prefix.len() <= MAX_PREFIX;
        Ok(Self {
            vocab,
            matcher,
            prefix,
            max_chars,
            unknown,
            looks_up,
        })
    }

    fn compile(vocab: &Vocab, prefix: &[u8]) -> Result<LongestMatch> {
        let findable = || vocab.iter().filter(|&(id, _)| vocab.is_findable(id));
        let beginning = findable().map(|(id, token)| (token, id));
        if prefix.is_empty() {
            return LongestMatch::new(beginning, None);
        }
        // A token with the prefix also begins a word, if the word is spelled with it.
        let mut continuing =
            findable().filter_map(|(id, token)| Some((token.strip_prefix(prefix)?, id)));
        LongestMatch::new(beginning, Some(&mut continuing))
    }

    /// Returns the prefix of the tokens that continue a word.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Most characters of a word that is not unknown.
    pub fn max_chars(&self) -> usize {
        self.max_chars
    }

    /// The unknown token's id.
    pub fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    /// Appends the ids of a short word, each the longest token that the vocabulary has of what is
    /// left. Says whether it did: a word that takes too many lookups, or has none, is left to the
    /// automaton. Both find the same; the automaton reads a line of memory or two for each byte,
    /// and this one for each token.
    fn look_up(&self, word: &[u8], out: &mut Vec<u32>) -> bool {
        let mut room = [0; MAX_PREFIX + MAX_LOOKED_UP];
        let Some(there) = room.get_mut(MAX_PREFIX..MAX_PREFIX + word.len()) else {
            return false;
        };
        there.copy_from_slice(word);
        let before = out.len();
        let prefix = self.prefix.as_bytes();
        // The prefix overwrites what has been encoded.
        let (mut start, mut from) = (MAX_PREFIX, MAX_PREFIX);
        let mut end = MAX_PREFIX + word.len();
        let last = end;
        for _ in 0..MAX_LOOKUPS {
            if let Some(id) = self.vocab.bytes_to_id(&room[from..end]) {
                out.push(id);
                if end == last {
                    return true;
                }
                start = end;
                from = end - prefix.len();
                room[from..end].copy_from_slice(prefix);
                end = last;
                continue;
            }
            end -= 1;
            if end == start {
                break;
            }
        }
        out.truncate(before);
        false
    }

    /// Calls `each` with the id of each token of a word and the bytes of the word that it covers.
    pub fn encode_with_pieces(
        &self,
        word: &[u8],
        scratch: &mut WordPieceScratch,
        mut each: impl FnMut(u32, usize),
    ) -> Result<()> {
        let WordPieceScratch { stack, pieces } = scratch;
        pieces.clear();
        // A word has no more characters than bytes: a short word needs no counting.
        let fits = word.len() <= self.max_chars || count_chars(word) <= self.max_chars;
        if fits
            && self
                .matcher
                .segment(word, stack, |piece| pieces.push(piece))
        {
            pieces
                .iter()
                .for_each(|piece| each(piece.id, piece.bytes as usize));
            return Ok(());
        }
        let Some(id) = self.unknown else {
            let piece = String::from_utf8_lossy(word).into_owned();
            return Err(ErrorKind::Unencodable { piece }.into());
        };
        each(id, word.len());
        Ok(())
    }
}

impl Model for WordPieceModel {
    type Scratch = WordPieceScratch;

    /// Prefixes included.
    fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    fn encode_spans(
        &self,
        pretoken: &[u8],
        scratch: &mut WordPieceScratch,
        each: &mut dyn FnMut(u32, usize, usize),
    ) -> Result<()> {
        self.encode_with_pieces(pretoken, scratch, spans_of_lengths(each))
    }

    fn encode_pretoken(
        &self,
        pretoken: &[u8],
        scratch: &mut WordPieceScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let is_short = (1..=MAX_LOOKED_UP.min(self.max_chars)).contains(&pretoken.len());
        // A longer character would be looked up once for each of its bytes.
        if self.looks_up && is_short && pretoken.is_ascii() && self.look_up(pretoken, out) {
            return Ok(());
        }
        self.encode_with_pieces(pretoken, scratch, |id, _| out.push(id))
    }
}

/// Code points of UTF-8: bytes that do not continue one.
fn count_chars(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vocab(tokens: &[String]) -> Vocab {
        let mut vocab = Vocab::default();
        for (id, token) in (0..).zip(tokens) {
            vocab.insert(id, token.as_bytes()).unwrap();
        }
        vocab
    }

    fn words(tokens: &[&str]) -> Vec<String> {
        tokens.iter().map(|&token| token.to_owned()).collect()
    }

    fn encode(model: &WordPieceModel, word: &str) -> Result<Vec<(u32, usize)>> {
        let mut pieces = Vec::new();
        model.encode_with_pieces(
            word.as_bytes(),
            &mut WordPieceScratch::default(),
            |id, bytes| pieces.push((id, bytes)),
        )?;
        Ok(pieces)
    }

    #[test]
    fn tokens_and_what_they_cover_are_those_of_the_reference() {
        // Expected values: WordPiece.tokenize of `tokenizers` 0.23.3 with this vocabulary.
        let tokens = words(&["[UNK]", "a", "##a", "##", "", "b", "##aab", "é"]);
        let model = WordPieceModel::new(vocab(&tokens), "##", 100, Some(0)).unwrap();
        let cases: &[(&str, &[(u32, usize)])] = &[
            ("", &[]),
            ("a", &[(1, 1)]),
            ("##a", &[(2, 3)]),
            ("##", &[(3, 2)]),
            ("b##", &[(0, 3)]),
            ("aaab", &[(1, 1), (6, 3)]),
            ("aaaa", &[(1, 1), (2, 1), (2, 1), (2, 1)]),
            ("az", &[(0, 2)]),
            ("éa", &[(7, 2), (2, 1)]),
            ("##aa", &[(2, 3), (2, 1)]),
        ];
        for (word, expected) in cases {
            assert_eq!(encode(&model, word).unwrap(), *expected, "{word}");
        }
        let model = WordPieceModel::new(vocab(&tokens), "", 100, Some(0)).unwrap();
        assert_eq!(
            encode(&model, "aaa##a").unwrap(),
            [(1, 1), (1, 1), (1, 1), (2, 3)]
        );
    }

    #[test]
    fn the_limit_counts_characters() {
        let tokens = words(&["[UNK]", "é", "##é"]);
        let model = WordPieceModel::new(vocab(&tokens), "##", 2, Some(0)).unwrap();
        assert_eq!(encode(&model, "éé").unwrap(), [(1, 2), (2, 2)]);
        assert_eq!(encode(&model, "ééé").unwrap(), [(0, 6)]);
    }

    #[test]
    fn without_an_unknown_token_only_hopeless_words_fail() {
        let tokens = words(&["a", "##a"]);
        let model = WordPieceModel::new(vocab(&tokens), "##", 100, None).unwrap();
        assert_eq!(encode(&model, "aa").unwrap(), [(0, 1), (1, 1)]);
        let error = encode(&model, "ab").unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unencodable { piece } if piece == "ab"));
        assert!(WordPieceModel::new(vocab(&tokens), "##", 100, Some(7)).is_err());
    }

    proptest! {
        #[test]
        fn equals_the_naive_twin(
            tokens in prop::collection::btree_set("(#|##)?[abé]{0,5}", 1..30),
            prefix in "#{0,2}",
            max_chars in 0usize..20,
            words in prop::collection::vec("#{0,3}[abé]{0,25}", 1..20),
        ) {
            let tokens: Vec<String> = tokens.into_iter().collect();
            let model = WordPieceModel::new(vocab(&tokens), prefix.clone(), max_chars, Some(0)).unwrap();
            let packed = vocab(&tokens).read_again();
            let looking_up = WordPieceModel::new(packed, prefix.clone(), max_chars, Some(0)).unwrap();
            prop_assert!(looking_up.looks_up && !model.looks_up);
            for word in words {
                let expected = naive::encode(&tokens, &prefix, max_chars, 0, &word);
                let mut ids = vec![7];
                looking_up
                    .encode_pretoken(word.as_bytes(), &mut WordPieceScratch::default(), &mut ids)
                    .unwrap();
                let expected_ids = expected.iter().map(|&(id, _)| id);
                prop_assert_eq!(&ids[1..], expected_ids.collect::<Vec<_>>(), "{}", word);
                prop_assert_eq!(encode(&model, &word).unwrap(), expected, "{}", word);
            }
        }
    }
}
