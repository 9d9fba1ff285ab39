//! Promises that hold for every tokenizer that loads, whatever it was read from.

use jeton_core::documents::batch::DocumentBatch;
use jeton_core::format::{
    from_canonical, from_hf_json, from_tiktoken, to_canonical, to_hf_json, to_tiktoken,
};
use jeton_core::special::Allow;
use jeton_core::tokenizer::Tokenizer;

use super::{TEXTS, tail};

/// Vocabularies with more ids are not written down again: one id of 16 million makes millions of
/// holes, and writing them takes a second.
const MAX_IDS_WRITTEN: u32 = 1 << 16;

/// Checks a tokenizer that was read from `data`.
pub(super) fn check(tokenizer: &Tokenizer, data: &[u8]) {
    let tail = tail(data);
    let texts = [TEXTS[0], TEXTS[1], tail.as_str(), ""];
    for allow in [Allow::None, Allow::All] {
        for add_special_tokens in [false, true] {
            check_batch(tokenizer, &texts, &allow, add_special_tokens);
        }
    }
    for text in texts {
        check_pretokens(tokenizer, text);
    }
    if tokenizer.vocab().size() <= MAX_IDS_WRITTEN {
        check_written(tokenizer, &texts);
    }
}

/// The ids of a text, with everything that must agree with them; None if it cannot be encoded.
fn encode(
    tokenizer: &Tokenizer,
    text: &str,
    allow: &Allow,
    add_special_tokens: bool,
) -> Option<Vec<u32>> {
    let mut ids = Vec::new();
    let encoded = tokenizer.encode_into(text, allow, add_special_tokens, &mut ids);
    let aligned = tokenizer.encode_with_offsets(text, allow, add_special_tokens, true);
    let counted = tokenizer.count(text, allow);
    if encoded.is_err() {
        assert!(
            aligned.is_err(),
            "offsets of text that has no ids: {text:?}"
        );
        assert!(
            counted.is_err(),
            "a count of text that has no ids: {text:?}"
        );
        return None;
    }
    let size = tokenizer.vocab().size();
    for &id in &ids {
        assert!(id < size, "id {id} in a vocabulary of {size}");
        assert!(
            tokenizer.vocab().id_to_bytes(id).is_some(),
            "id {id} has no token"
        );
    }
    if !add_special_tokens {
        let counted = counted.expect("text that has ids can be counted");
        assert_eq!(
            counted,
            ids.len() as u64,
            "count and length differ: {text:?}"
        );
    }
    let aligned = aligned.expect("text that has ids has offsets");
    assert_eq!(
        aligned.ids, ids,
        "ids with and without offsets differ: {text:?}"
    );
    assert_eq!(aligned.starts.len(), ids.len());
    assert_eq!(aligned.ends.len(), ids.len());
    assert_eq!(aligned.word_ids.len(), ids.len());
    // They need not rise: normalization may put marks in another order, and tokens overlap where
    // one begins in white space that the one before takes along.
    for (&start, &end) in aligned.starts.iter().zip(&aligned.ends) {
        assert!(
            start <= end && end <= text.len(),
            "offsets {start}..{end}: {text:?}"
        );
    }
    for skip_special_tokens in [false, true] {
        let mut bytes = Vec::new();
        tokenizer
            .decode_into(&ids, skip_special_tokens, &mut bytes)
            .expect("ids of text can be decoded");
    }
    Some(ids)
}

/// A batch gives what its texts give.
fn check_batch(tokenizer: &Tokenizer, texts: &[&str], allow: &Allow, add_special_tokens: bool) {
    let mut encodable = Vec::new();
    let mut ids = Vec::new();
    let mut offsets = vec![0];
    for text in texts {
        if let Some(found) = encode(tokenizer, text, allow, add_special_tokens) {
            encodable.push(*text);
            ids.extend(found);
            offsets.push(ids.len() as i64);
        }
    }
    let batch = DocumentBatch::from_texts(&encodable);
    let tokens = tokenizer
        .encode_batch(&batch, allow, add_special_tokens, 1, &mut || true)
        .expect("texts that have ids have them in a batch");
    assert_eq!(tokens.ids, ids, "a batch gives other ids");
    assert_eq!(tokens.offsets, offsets, "a batch puts ids elsewhere");
    if !add_special_tokens {
        let counts = tokenizer
            .count_batch(&batch, allow, 1, &mut || true)
            .expect("texts that have ids can be counted in a batch");
        let lengths: Vec<i64> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(counts, lengths, "a batch counts otherwise");
    }
}

/// No pretoken is empty.
fn check_pretokens(tokenizer: &Tokenizer, text: &str) {
    let _ = tokenizer.fidelity(text, &[], text.as_bytes());
    let Ok(normalized) = tokenizer.normalize(text) else {
        return;
    };
    let Ok(pretokens) = tokenizer.pretokenize(&normalized) else {
        return;
    };
    assert!(
        pretokens.iter().all(|pretoken| !pretoken.is_empty()),
        "an empty pretoken: {text:?}"
    );
}

/// Checks that a written tokenizer can be read and is equal.
fn check_written(tokenizer: &Tokenizer, texts: &[&str]) {
    let canonical = to_canonical(tokenizer).expect("what was read has a canonical form");
    let again = from_canonical(&canonical).expect("the canonical form can be read");
    let written = to_canonical(&again).expect("what was read has a canonical form");
    assert!(written == canonical, "the canonical form is not stable");
    let fingerprint = |tokenizer: &Tokenizer| tokenizer.to_config().fingerprint();
    assert_eq!(
        fingerprint(tokenizer).expect("there is a fingerprint"),
        fingerprint(&again).expect("there is a fingerprint"),
    );
    for text in texts {
        let ids = |tokenizer: &Tokenizer| {
            let mut ids = Vec::new();
            let encoded = tokenizer.encode_into(text, &Allow::None, true, &mut ids);
            encoded.ok().map(|()| ids)
        };
        assert_eq!(
            ids(tokenizer),
            ids(&again),
            "another tokenizer was written: {text:?}"
        );
    }
    if let Ok(file) = to_hf_json(tokenizer) {
        assert!(
            from_hf_json(&file).is_ok(),
            "a written tokenizer.json cannot be read"
        );
    }
    if let Ok(file) = to_tiktoken(tokenizer) {
        let read = from_tiktoken(&file, super::formats::tiktoken_options(&[]));
        assert!(read.is_ok(), "a written rank file cannot be read");
    }
}
