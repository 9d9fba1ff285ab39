//! The clean-up against its definition, character by character and on mixtures.

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

use super::super::case;
use super::*;

const ALL: BertConfig = BertConfig {
    clean_text: true,
    handle_chinese_chars: true,
    strip_accents: true,
    lowercase: true,
};

fn bert(config: BertConfig) -> BertNormalizer {
    BertNormalizer::new(config).unwrap()
}

fn normalized(config: BertConfig, text: &str) -> String {
    bert(config)
        .normalize(text)
        .unwrap_or_else(|| text.to_owned())
}

/// Where each character of the result comes from, in characters of the text.
fn origins(config: BertConfig, text: &str) -> Vec<(usize, usize)> {
    let normalizer = bert(config);
    let alignment = normalizer.align(text);
    let target = normalized(config, text);
    let mut lookup = alignment.lookup();
    let chars = |bytes: usize| text[..bytes].chars().count();
    target
        .char_indices()
        .map(|(at, c)| lookup.source_range(at, at + c.len_utf8()))
        .map(|(start, end)| (chars(start), chars(end)))
        .collect()
}

#[test]
fn results_and_places_are_those_of_the_reference() {
    // Expected values: BertNormalizer of `tokenizers` 0.23.3.
    let text = "中é\u{323}x\u{200b}İ";
    assert_eq!(normalized(ALL, text), " 中 exi");
    assert_eq!(
        origins(ALL, text),
        [(0, 1), (0, 1), (0, 1), (1, 2), (3, 4), (5, 6)]
    );
    let accents_stay = BertConfig {
        strip_accents: false,
        ..ALL
    };
    let text = "中éx\u{200b}İ";
    assert_eq!(normalized(accents_stay, text), " 中 éxi\u{307}");
    assert_eq!(
        origins(accents_stay, text),
        [(0, 1), (0, 1), (0, 1), (1, 2), (2, 3), (4, 5), (4, 5)]
    );
    assert_eq!(normalized(ALL, "Ab\tC\u{85}\u{2028}d"), "ab c d");
    assert_eq!(
        normalized(ALL, "\u{2B820}\u{F900}가"),
        "\u{2B820} 豈 \u{1100}\u{1161}"
    );
    assert_eq!(bert(ALL).normalize("plain text, no change: 1-2"), None);
}

#[test]
fn marks_without_a_base_are_put_in_order() {
    // U+302E and U+1D165 are marks that take space: they stay, in canonical order.
    assert_eq!(normalized(ALL, "\u{1D165}\u{302E}"), "\u{1D165}\u{302E}");
    assert_eq!(normalized(ALL, "\u{302E}\u{1D165}"), "\u{1D165}\u{302E}");
    // U+0F73 is a starter that becomes two marks.
    let text = "\u{1D165}\u{F73}\u{302E}";
    let nfd: String = text
        .nfd()
        .filter(|c| !['\u{F71}', '\u{F72}'].contains(c))
        .collect();
    assert_eq!(normalized(ALL, text), nfd);
}

/// The definition: four steps, one after the other.
fn naive(config: BertConfig, text: &str) -> String {
    let mut text = text.to_owned();
    if config.clean_text {
        text = text
            .chars()
            .filter(|&c| !is_in(REMOVED, c))
            .map(|c| if c.is_whitespace() { ' ' } else { c })
            .collect();
    }
    if config.handle_chinese_chars {
        text = text
            .chars()
            .map(|c| {
                if is_in(IDEOGRAPHS, c) {
                    format!(" {c} ")
                } else {
                    c.to_string()
                }
            })
            .collect();
    }
    if config.strip_accents {
        let (accents, known) = (
            accents().unwrap(),
            assigned_in(UnicodeVersion::HF_NORMALIZATION).unwrap(),
        );
        let mut decomposed = String::new();
        for part in text.split_inclusive(|c| !contains(&known, c)) {
            // All but the last character are known; that one stands for itself if it is not.
            let inert = part.chars().next_back().filter(|&c| !contains(&known, c));
            let end = part.len() - inert.map_or(0, char::len_utf8);
            decomposed.extend(part[..end].nfd());
            decomposed.extend(inert);
        }
        text = decomposed;
        text.retain(|c| !contains(&accents, c));
    }
    if config.lowercase {
        text = case::normalize(&text).unwrap_or(text);
    }
    text
}

proptest! {
    #[test]
    fn one_pass_equals_four_steps(
        choices in prop::collection::vec(any::<usize>(), 0..12),
        text in "[aÉ中\\u{f900}\\u{200b}\\u{301}\\u{323}\\u{302e}\\u{1d165}\\u{f73}\\u{344}\\u{1ac0}가İ\\u{ad}\t Σ]{0,20}",
        flags in any::<[bool; 4]>(),
    ) {
        let [clean_text, handle_chinese_chars, strip_accents, lowercase] = flags;
        let config = BertConfig { clean_text, handle_chinese_chars, strip_accents, lowercase };
        for text in [jeton_testing::hostile_text(&choices), text] {
            let expected = naive(config, &text);
            prop_assert_eq!(&normalized(config, &text), &expected);
            let alignment = bert(config).align(&text);
            let (source, target) = alignment.stretches.iter().fold((0, 0), |(s, t), stretch| {
                (s + stretch.source_bytes, t + stretch.target_bytes)
            });
            prop_assert_eq!((source, target), (text.len(), expected.len()));
        }
    }
}

#[test]
fn tables_newer_than_the_reference_change_nothing() {
    // U+1ACF (Unicode 17) and U+05C9 (18) are marks in newer tables of combining classes, unknown
    // to others.
    for unknown in ['\u{1ACF}', '\u{5C9}'] {
        let text = format!("a\u{302E}{unknown}\u{1D165}");
        assert_eq!(normalized(ALL, &text), text);
    }
    // Marks whose category has changed since Unicode 8.
    for (c, goes) in [
        ('\u{1734}', true),
        ('\u{1171E}', true),
        ('\u{A9BD}', false),
        ('\u{1885}', false),
    ] {
        assert_eq!(normalized(ALL, c.encode_utf8(&mut [0; 4])).is_empty(), goes);
    }
}
