//! A stream of tokens gives what the chain gives for all of them at once, and nothing that it takes
//! back.

use proptest::prelude::*;

use super::*;
use crate::normalize::replace::ReplacePattern;
use crate::pretokenize::metaspace::PrependScheme;

fn step_config() -> impl Strategy<Value = DecoderConfig> {
    let replace = |pattern| {
        move |content: &str| DecoderConfig::Replace {
            pattern,
            content: content.to_owned(),
        }
    };
    let string = |from: &str| ReplacePattern::String(from.to_owned());
    let regex = |from: &str| ReplacePattern::Regex(from.to_owned());
    let replacements = vec![
        replace(string("▁"))(" "),
        replace(string("aa"))("a"),
        replace(string("aab"))(""),
        replace(string("é"))("è"),
        replace(string(" "))("</w>"),
        replace(regex("a+b?"))("c"),
        replace(regex("(?<=a) "))("_"),
        replace(regex("^▁|</w>$"))(""),
    ];
    let metaspace = [
        PrependScheme::Always,
        PrependScheme::First,
        PrependScheme::Never,
    ];
    prop_oneof![
        Just(DecoderConfig::Fuse),
        Just(DecoderConfig::ByteLevel),
        Just(DecoderConfig::ByteFallback),
        prop::sample::select(replacements),
        prop::sample::select(metaspace.to_vec()).prop_map(|prepend| DecoderConfig::Metaspace {
            replacement: '▁',
            prepend
        }),
        (
            prop::sample::select(vec![' ', 'a', 'é']),
            0..3usize,
            0..3usize
        )
            .prop_map(|(content, start, stop)| DecoderConfig::Strip {
                content,
                start,
                stop
            }),
        (prop::sample::select(vec!["##", "a", ""]), any::<bool>()).prop_map(|(prefix, cleanup)| {
            DecoderConfig::WordPiece {
                prefix: prefix.to_owned(),
                cleanup,
            }
        }),
        prop::sample::select(vec!["</w>", "a", ""]).prop_map(|suffix| DecoderConfig::Bpe {
            suffix: suffix.to_owned()
        }),
        (
            prop::sample::select(vec!["<pad>", "a", ""]),
            prop::sample::select(vec!["|", " ", ""]),
            any::<bool>()
        )
            .prop_map(|(pad, delimiter, cleanup)| DecoderConfig::Ctc {
                pad_token: pad.to_owned(),
                word_delimiter_token: delimiter.to_owned(),
                cleanup
            }),
    ]
}

fn tokens() -> impl Strategy<Value = Vec<String>> {
    const KNOWN: &[&str] = &[
        "",
        "a",
        "b",
        "aa",
        "aab",
        "ab",
        " ",
        "  ",
        "▁",
        "▁a",
        "▁▁",
        "##a",
        "##",
        "a</w>",
        "</w>",
        "a</w>b</w>",
        "</",
        "w>",
        "<pad>",
        "|",
        "<0x41>",
        "<0xC3>",
        "<0xA9>",
        "<0xE4>",
        "<0xB8>",
        "<0xAD>",
        "<0xF0>",
        "<0x",
        "41>",
        "Ġ",
        "Ġa",
        "Ã",
        "©",
        "Ã©",
        "ä",
        "¸",
        "Ń",
        "é",
        "中",
        ".",
        " .",
        "'",
        " ' ",
        " n't",
        " do",
        " not",
        "n't",
        "\u{FFFD}",
        "a b",
    ];
    let token = prop_oneof![
        9 => prop::sample::select(KNOWN).prop_map(str::to_owned),
        1 => "\\PC{0,3}",
    ];
    prop::collection::vec(token, 0..14)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_gives_the_whole(
        configs in prop::collection::vec(step_config(), 0..5),
        tokens in tokens(),
    ) {
        let decoder = Decoder::new(&configs).unwrap();
        let whole = decoder.decode(tokens.clone()).unwrap();
        let mut stream = DecoderStream::new(&decoder);
        let mut out = String::new();
        for token in &tokens {
            stream.push(&decoder, token, &mut out).unwrap();
            prop_assert!(whole.starts_with(&out), "{whole:?} does not begin with {out:?}");
        }
        stream.finish(&decoder, &mut out).unwrap();
        prop_assert_eq!(out, whole);
    }
}

fn pushes(configs: &[DecoderConfig], tokens: &[&str]) -> Vec<String> {
    let decoder = Decoder::new(configs).unwrap();
    let mut stream = DecoderStream::new(&decoder);
    let mut each: Vec<String> = tokens
        .iter()
        .map(|token| {
            let mut out = String::new();
            stream.push(&decoder, token, &mut out).unwrap();
            out
        })
        .collect();
    let mut out = String::new();
    stream.finish(&decoder, &mut out).unwrap();
    each.push(out);
    each
}

#[test]
fn text_comes_as_soon_as_it_is_certain() {
    use DecoderConfig as D;
    let replace = |from: &str| D::Replace {
        pattern: ReplacePattern::String(from.to_owned()),
        content: " ".to_owned(),
    };
    let strip = |start, stop| D::Strip {
        content: ' ',
        start,
        stop,
    };
    // Llama's chain.
    let llama = [replace("▁"), D::ByteFallback, D::Fuse, strip(1, 0)];
    let tokens = ["▁a", "▁b", "<0xC3>", "<0xA9>", "c", "<0xE4>", "d"];
    assert_eq!(
        pushes(&llama, &tokens),
        ["a", " b", "", "", "éc", "", "\u{FFFD}d", ""]
    );
    assert_eq!(
        pushes(&[D::ByteLevel], &["Ġa", "Ã", "©", "Ã", "b"]),
        [" a", "", "é", "", "\u{FFFD}b", ""]
    );
    let suffix = D::Bpe {
        suffix: "</w>".to_owned(),
    };
    assert_eq!(
        pushes(&[suffix], &["a", "b</w>", "c</w>"]),
        ["a", "b", " c", ""]
    );
    assert_eq!(
        pushes(&[D::Fuse, strip(0, 2)], &["a ", "  ", "b "]),
        ["a", " ", "  b", ""]
    );
    let cleaning = D::WordPiece {
        prefix: "##".to_owned(),
        cleanup: true,
    };
    assert_eq!(
        pushes(&[D::Fuse, cleaning], &["it", " do", " no", "w", " ."]),
        ["it", "", "", " do now", ".", ""]
    );
}
