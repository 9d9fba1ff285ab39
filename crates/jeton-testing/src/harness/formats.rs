//! Targets that read tokenizer files.

use std::sync::LazyLock;

use jeton_core::config::Reference;
use jeton_core::format::sentencepiece::SpmFile;
use jeton_core::format::{
    BertOptions, TiktokenOptions, from_canonical, from_hf_json, from_rwkv, from_sentencepiece,
    from_tiktoken, from_vocab_txt, to_vocab_txt,
};
use jeton_core::special::Allow;
use jeton_core::tokenizer::Tokenizer;

use super::{TEXTS, tail, tokenizer};

/// Checks what a reader made of bytes; whether it made anything.
pub(super) fn check(read: jeton_core::error::Result<Tokenizer>, data: &[u8]) -> bool {
    read.is_ok_and(|read| {
        tokenizer::check(&read, data);
        true
    })
}

/// The canonical form.
pub fn canonical(data: &[u8]) -> bool {
    check(from_canonical(data), data)
}

/// `tokenizer.json`.
pub fn hf_json(data: &[u8]) -> bool {
    check(from_hf_json(data), data)
}

/// A SentencePiece `.model`: the file as it stands, then the tokenizer.
pub fn sentencepiece(data: &[u8]) -> bool {
    if let Ok(file) = SpmFile::from_bytes(data) {
        let written = file.to_bytes();
        assert!(written == data, "a file is not written as it was read");
        let again = SpmFile::from_bytes(&written).expect("a file that was written can be read");
        // By their bytes: a score may be NaN, which equals nothing.
        assert!(again.to_bytes() == written, "a file changes each time");
    }
    check(from_sentencepiece(data), data)
}

/// The 256 bytes, which every rank file has; inputs are also read as what follows them.
pub(super) static BYTE_RANKS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    (0..=255u8)
        .map(|byte| format!("{} {byte}\n", base64_of_byte(byte)))
        .collect::<String>()
        .into_bytes()
});

/// The base64 of one byte: its upper six bits, its lower two, padding.
pub(super) fn base64_of_byte(byte: u8) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    format!("{}{}==", digit(byte >> 2), digit((byte & 3) << 4))
}

/// Returns options of a rank file, with a pattern that keeps all text and compiles fast.
pub(super) fn tiktoken_options(special_tokens: &[(&str, u32)]) -> TiktokenOptions {
    let special_tokens = special_tokens
        .iter()
        .map(|&(name, id)| (name.to_owned(), id));
    TiktokenOptions {
        pattern: "[A-Za-z]+|[^A-Za-z]+".to_owned(),
        special_tokens: special_tokens.collect(),
        normalizer: Vec::new(),
        reference: Reference::Tiktoken,
    }
}

/// `.tiktoken` ranks. A rank file always gives text back.
pub fn tiktoken(data: &[u8]) -> bool {
    let whole = [BYTE_RANKS.as_slice(), data].concat();
    let mut is_read = false;
    for file in [data, &whole] {
        let options = tiktoken_options(&[("<|endoftext|>", 100_000), ("<|fim|>", 100_001)]);
        let Ok(read) = from_tiktoken(file, options) else {
            continue;
        };
        is_read = true;
        tokenizer::check(&read, data);
        for text in [TEXTS[0], TEXTS[1], &tail(data)] {
            let (mut ids, mut bytes) = (Vec::new(), Vec::new());
            read.encode_into(text, &Allow::All, false, &mut ids)
                .expect("a rank file with all bytes encodes all text");
            read.decode_into(&ids, false, &mut bytes)
                .expect("ids of text can be decoded");
            assert_eq!(bytes, text.as_bytes(), "text does not come back");
        }
    }
    is_read
}

/// `vocab.txt`.
pub fn vocab_txt(data: &[u8]) -> bool {
    let Ok(read) = from_vocab_txt(data, &BertOptions::default()) else {
        return false;
    };
    tokenizer::check(&read, data);
    let vocab = read.vocab();
    if let Ok(written) = to_vocab_txt(vocab) {
        let again = from_vocab_txt(&written, &BertOptions::default())
            .expect("a vocabulary that was written can be read");
        let again = again.vocab();
        for (id, token) in vocab.iter().filter(|(_, token)| !token.is_empty()) {
            assert_eq!(
                again.bytes_to_id(token),
                vocab.bytes_to_id(token),
                "id {id}"
            );
        }
    }
    true
}

/// The 256 bytes as RWKV's list has them, with the ids 1 to 256.
static BYTE_TOKENS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    (0..=255u8)
        .map(|byte| format!("{} b'\\x{byte:02x}' 1\n", u32::from(byte) + 1))
        .collect::<String>()
        .into_bytes()
});

/// RWKV's list. With a token for each byte all text comes back.
pub fn rwkv(data: &[u8]) -> bool {
    let whole = [BYTE_TOKENS.as_slice(), data].concat();
    let mut is_read = false;
    for file in [data, &whole] {
        let Ok(read) = from_rwkv(file) else {
            continue;
        };
        is_read = true;
        tokenizer::check(&read, data);
        for text in [TEXTS[0], TEXTS[1], &tail(data)] {
            let (mut ids, mut bytes) = (Vec::new(), Vec::new());
            read.encode_into(text, &Allow::None, false, &mut ids)
                .expect("a list with all bytes encodes all text");
            read.decode_into(&ids, false, &mut bytes)
                .expect("ids of text can be decoded");
            assert!(bytes == text.as_bytes(), "text does not come back");
        }
    }
    is_read
}
