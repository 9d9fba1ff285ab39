//! Targets that read the tokenizer files of single projects: GGUF, tekken, Claude, GPT-2's two
//! files.

use std::sync::LazyLock;

use jeton_core::format::gguf::{HeaderBytes, header_bytes};
use jeton_core::format::{
    Gpt2Options, from_claude, from_clip, from_gguf, from_gpt2_files, from_tekken,
};

use super::formats::{base64_of_byte, check};

/// The header of a GGUF file; what it says of its own length must be so.
pub fn gguf(data: &[u8]) -> bool {
    let read = from_gguf(data);
    match header_bytes(data) {
        Ok(HeaderBytes::Exactly(n)) => {
            let header = usize::try_from(n).ok().and_then(|n| data.get(..n));
            let header = header.expect("a header is no longer than its file");
            assert_eq!(
                from_gguf(header).is_ok(),
                read.is_ok(),
                "what follows the header counts"
            );
        }
        Ok(HeaderBytes::AtLeast(n)) => {
            assert!(n > data.len() as u64, "bytes are missing that are there");
            assert!(read.is_err(), "a header was read that is cut off");
        }
        Err(_) => assert!(read.is_err(), "a header was read that is bad"),
    }
    check(read, data)
}

/// Enough merges for CLIP: a chain over the letters, which never repeats.
static CLIP_MERGES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let letters: Vec<char> = ('!'..='~').collect();
    let pairs = letters
        .iter()
        .flat_map(|a| letters.iter().map(move |b| (*a, *b)));
    let pairs: Vec<(char, char)> = pairs.collect();
    let mut lines: Vec<String> = pairs.iter().map(|(a, b)| format!("{a} {b}\n")).collect();
    for c in &letters[..5] {
        lines.extend(pairs.iter().map(|(a, b)| format!("{c} {a}{b}\n")));
    }
    lines.concat().into_bytes()
});

/// Reads CLIP's merges: the input alone, then the input and the merges that it needs.
pub fn clip(data: &[u8]) -> bool {
    let whole = [data, b"\n", &CLIP_MERGES].concat();
    check(from_clip(data), data) | check(from_clip(&whole), data)
}

/// A token for each byte, which every `tekken.json` has.
static TEKKEN_BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    (0..=255u8)
        .map(|byte| {
            let base64 = base64_of_byte(byte);
            format!(r#"{{"rank":{byte},"token_bytes":"{base64}"}},"#)
        })
        .collect::<String>()
        .into_bytes()
});

/// Seed of `claude.json`: a line of ranks.
static CLAUDE_BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let bytes = (0..=255u8).map(|byte| format!(" {}", base64_of_byte(byte)));
    format!("! 0{}\\n", bytes.collect::<String>()).into_bytes()
});

/// A file with something put behind the first place where it has `mark`.
fn with(data: &[u8], mark: &[u8], more: &[u8]) -> Vec<u8> {
    let found = data.windows(mark.len()).position(|part| part == mark);
    let (before, after) = data.split_at(found.map_or(0, |at| at + mark.len()));
    [before, more, after].concat()
}

/// Mistral's `tekken.json`, as it stands and with the 256 bytes.
pub fn tekken(data: &[u8]) -> bool {
    let whole = with(data, br#""vocab":["#, &TEKKEN_BYTES);
    check(from_tekken(data), data) | check(from_tekken(&whole), data)
}

/// Anthropic's `claude.json`, as it stands and with the 256 bytes.
pub fn claude(data: &[u8]) -> bool {
    let whole = with(data, br#""bpe_ranks":""#, &CLAUDE_BYTES);
    check(from_claude(data), data) | check(from_claude(&whole), data)
}

/// A vocabulary for `merges.txt`; U+0120 is a space in GPT-2's alphabet.
const VOCAB_JSON: &str = "{\"a\":0,\"b\":1,\"l\":2,\"o\":3,\"\u{120}\":4,\"ab\":5,\"\u{120}a\":6,\"lo\":7,\"abab\":8,\"<s>\":9,\"<unk>\":10}";

/// GPT-2's `merges.txt`, alone and after a `vocab.json` and a NUL.
pub fn merges(data: &[u8]) -> bool {
    let name = |name: &str| vec![name.to_owned()];
    let options = Gpt2Options {
        add_prefix_space: data.len() % 2 == 1,
        special_tokens: [name("<s>"), name("</s>")].concat(),
        unk_token: (data.len() % 3 == 1).then(|| "<unk>".to_owned()),
        before: name("<s>"),
        after: name("</s>"),
    };
    let is_read = check(from_gpt2_files(VOCAB_JSON.as_bytes(), data, &options), data);
    let mut parts = data.splitn(2, |&byte| byte == 0);
    match (parts.next(), parts.next()) {
        (Some(vocab), Some(merges)) => {
            check(from_gpt2_files(vocab, merges, &options), data) | is_read
        }
        _ => is_read,
    }
}
