//! A text taken up again at any place that is said to be good gives the whole's result, whatever
//! follows.

use proptest::prelude::*;

use super::*;
use crate::normalize::replace::{ReplaceConfig, ReplacePattern};
use crate::normalize::{Form, NormalizerConfig, bert::BertConfig};
use crate::text::unicode::UnicodeVersion;

fn replace(pattern: ReplacePattern, content: &str) -> NormalizerConfig {
    let content = content.to_owned();
    NormalizerConfig::Replace(ReplaceConfig { pattern, content })
}

fn literal(text: &str, content: &str) -> NormalizerConfig {
    replace(ReplacePattern::String(text.to_owned()), content)
}

fn regex(pattern: &str, content: &str) -> NormalizerConfig {
    replace(ReplacePattern::Regex(pattern.to_owned()), content)
}

fn steps() -> Vec<NormalizerConfig> {
    let form = |form| NormalizerConfig::Form {
        form,
        unicode: UnicodeVersion::HF_NORMALIZATION,
    };
    let bert = |strip_accents| {
        NormalizerConfig::Bert(BertConfig {
            clean_text: true,
            handle_chinese_chars: true,
            strip_accents,
            lowercase: true,
        })
    };
    let strip = |left, right| NormalizerConfig::Strip { left, right };
    let prefix = "\u{2581}".to_owned();
    vec![
        form(Form::Nfc),
        form(Form::Nfd),
        form(Form::Nfkc),
        form(Form::Nfkd),
        bert(true),
        bert(false),
        strip(true, true),
        strip(true, false),
        strip(false, true),
        NormalizerConfig::StripAccents,
        NormalizerConfig::Lowercase,
        NormalizerConfig::Nmt,
        NormalizerConfig::Prepend { prefix },
        NormalizerConfig::ByteLevel,
        literal(" ", "\u{2581}"),
        literal("aa", "b"),
        literal("aba", " "),
        literal("e\u{301}", "x"),
        regex(r"\s+", " "),
        regex(" {2,}", "\u{2581}"),
        regex(r"a+(?=b)|\d{2}", "y"),
        regex("x*", "-"),
        NormalizerConfig::Clip,
    ]
}

/// Checks every place of a text against the rest of it and what may follow.
fn check(configs: &[NormalizerConfig], text: &str, more: &str) -> Result<usize> {
    let normalizer = Normalizer::new(configs)?;
    let whole = format!("{text}{more}");
    let normalized = normalizer.go_on(&whole, false)?;
    let certain = normalizer.certain(text, false)?;
    assert!(
        normalized.starts_with(&*certain),
        "{configs:?}: {text:?} {more:?}: {certain:?} is not how {normalized:?} begins"
    );
    let mut good = 0;
    for at in (1..text.len()).filter(|&at| text.is_char_boundary(at)) {
        if let Some(place) = normalizer.cut(text, at, false)? {
            good += 1;
            let rest = normalizer.go_on(&whole[at..], true)?;
            assert_eq!(
                normalized.get(place..),
                Some(&*rest),
                "{configs:?}: {text:?} {more:?} at {at}"
            );
        }
    }
    Ok(good)
}

proptest! {
    #[test]
    fn every_good_place_is_good(
        choices in prop::collection::vec(any::<usize>(), 0..6),
        later in prop::collection::vec(any::<usize>(), 0..3),
        letters in "[ab é\\u{301}\\u{316}\\u{f73}aab12x중\u{1100}\u{1161}\u{11a8} \\n]{0,12}",
        chosen in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
    ) {
        let all = steps();
        let configs: Vec<_> = chosen.iter().map(|index| index.get(&all).clone()).collect();
        let text = format!("{letters}{}", jeton_testing::hostile_text(&choices));
        for more in ["", "\u{301}", "a", " ", "aba", &jeton_testing::hostile_text(&later)] {
            check(&configs, &text, more).unwrap();
        }
    }
}

#[test]
fn ordinary_text_has_good_places() {
    for config in steps() {
        let never = matches!(&config, NormalizerConfig::Clip) || config == regex("x*", "-");
        let good = check(
            std::slice::from_ref(&config),
            "An ordinary text, not long.",
            " x",
        )
        .unwrap();
        assert_eq!(good == 0, never, "{config:?}");
    }
}
