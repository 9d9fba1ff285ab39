//! Word by word against all at once: the same tokenizer twice, one of them without cuts.

mod tokenizers;

use proptest::prelude::*;

use crate::format::{from_hf_json, from_sentencepiece};
use crate::special::Allow;
use crate::tokenizer::Tokenizer;
use jeton_testing::shared;
use tokenizers::tokenizers;

/// A tokenizer, and the same without cuts.
struct Pair {
    name: String,
    cutting: Tokenizer,
    whole: Tokenizer,
}

impl Pair {
    fn new(name: &str, make: impl Fn() -> Tokenizer) -> Self {
        let (cutting, whole) = (make(), make());
        whole.raw_words.set(Box::new(None)).unwrap();
        let pair = Self {
            name: name.to_owned(),
            cutting,
            whole,
        };
        ids(&pair.cutting, "a");
        pair
    }

    fn cuts(&self) -> bool {
        self.cutting.raw_words.get().is_some_and(Option::is_some)
    }

    fn check(&self, text: &str) {
        let expected = ids(&self.whole, text);
        // The second pass knows the words, the third also the words that are longer than phrases.
        // The fourth knows whole texts of few words.
        for _ in 0..4 {
            assert_eq!(
                ids(&self.cutting, text),
                expected,
                "{}: {text:?}",
                self.name
            );
        }
        let n = self.cutting.count(text, &Allow::None).unwrap();
        assert_eq!(n, expected.len() as u64, "{}: {text:?}", self.name);
    }
}

fn ids(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer
        .encode_into(text, &Allow::None, false, &mut ids)
        .unwrap();
    ids
}

const WORDS: &[&str] = &[
    " ",
    " ",
    " ",
    "  ",
    "\n",
    "\n",
    "\n\n",
    "\n▁",
    " \n",
    "\n  \n",
    "\r\n",
    "\t",
    "#",
    "# ",
    "中文，中文。",
    "中国人民，",
    "the",
    "The",
    "a",
    "ab",
    "b",
    "abthe",
    "don't",
    ".",
    "..",
    ",",
    "''",
    "``",
    "'",
    "1",
    "12",
    "x",
    "yz",
    "y",
    "z",
    "Q",
    "~",
    "▁",
    "▁the",
    "é",
    "e\u{301}",
    "\u{301}",
    "中",
    "中文",
    "слово",
    "\u{a0}",
    "\u{3000}",
    "\u{200b}",
    "\u{600}",
    "\u{1f1e9}",
    "\u{fe0f}",
    "\0",
    "\u{7f}",
    "Z",
    "c d",
    "<m>",
    ".b",
    "cb",
    "cb c",
    ",e\u{301}",
    "'a\u{301}",
    "文 ",
    "中 a",
    "\u{600}a",
    "a.b",
    "abcdefghijklmnop",
    "abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc",
];

#[test]
fn most_tokenizers_cut() {
    let never = ["bert and NFC", "plain", "llama across"];
    for pair in tokenizers() {
        if pair.name.starts_with("bytes") || pair.name.starts_with("unknown") {
            assert!(!pair.cuts(), "{}", pair.name);
        } else if !pair.name.starts_with("spm")
            && !pair.name.starts_with("rewriting")
            && !pair.name.starts_with("steps")
            && !never.contains(&pair.name.as_str())
        {
            assert!(
                pair.cuts() || pair.name.starts_with("line ends"),
                "{}",
                pair.name
            );
        }
    }
}

/// A line's end is a cut where nothing joins it with anything, and only there.
#[test]
fn line_ends_are_cuts_where_nothing_joins_them() {
    let lone = |pair: &Pair| {
        let plan = pair.cutting.raw_words.get().and_then(Option::as_ref);
        plan.is_some_and(|plan| plan.scanner.members[usize::from(b'\n')] & super::scan::LONE != 0)
    };
    let mut n_lone = 0;
    for pair in tokenizers() {
        n_lone += usize::from(lone(&pair));
        if let Some(name) = pair.name.strip_prefix("line ends ") {
            let number = name.strip_prefix("first ").unwrap_or(name);
            assert_eq!(lone(&pair), number.starts_with('0'), "{}", pair.name);
        }
    }
    // Unigram models and SentencePiece's BPE have some, too.
    assert!(n_lone > 12, "{n_lone}");
}

/// A single space, or what becomes one, at the beginning: it goes, stays, or a second one comes
/// before it.
#[test]
fn a_text_may_begin_with_a_space() {
    for pair in tokenizers() {
        for text in [" a", " the a", "\ta", "\n the", "  a", " ", " .", " 中"] {
            pair.check(text);
        }
    }
}

/// Line ends beside everything, which chance may leave out.
#[test]
fn line_ends_beside_everything() {
    for pair in tokenizers() {
        for word in WORDS {
            for end in ["\n", "\t", "\0", " \n", "\n ", "\n\n"] {
                pair.check(&format!("{word}{end}"));
                pair.check(&format!("a{end}{word}{end}{word}"));
            }
        }
    }
}

/// Characters that a model leaves out, with spaces around them.
#[test]
fn what_is_left_out_may_be_between_spaces() {
    for pair in tokenizers() {
        for text in [
            "日 キ",
            "x 日 a",
            " 日",
            "日 ",
            "a日 b",
            "x z  y ",
            "日\n 日",
        ] {
            pair.check(text);
        }
    }
}

/// Words of many parts, which are kept whole, by phrases, or by parts.
#[test]
fn long_words_are_their_parts() {
    for pair in tokenizers() {
        for n in [1, 2, 5, 20, 60] {
            pair.check(&"中文слово，".repeat(n));
            pair.check(&"中国人民".repeat(n));
            pair.check(&format!(
                " {}。the{}。\n",
                "中é中".repeat(n),
                "文".repeat(n)
            ));
        }
    }
}

/// A text without spaces begins with a special token, and all of the text is its first word.
#[test]
fn a_text_may_be_one_word() {
    let beginnings = [
        "中",
        "，",
        "\u{3000}",
        "\u{3000}\u{3000}",
        "\u{a0}",
        "\u{200b}",
        "\u{fe0f}",
        "\u{301}",
        "é",
        "\u{fe70}",
        "\u{37a}",
        "▁",
        "\u{600}",
        "\0",
        "слово",
        "e\u{301}",
        "<m>",
        "\u{1f1e9}",
        "\u{85}",
        "\u{feff}",
    ];
    for pair in tokenizers() {
        for beginning in beginnings {
            for rest in [
                "中文，中国人民。",
                "\u{301}中文é中国人",
                "\u{3000}文中，слово，中",
            ] {
                for n in [1, 4, 40] {
                    pair.check(&format!("{beginning}{}", rest.repeat(n)));
                }
            }
        }
    }
}

/// A cached text is not taken for the same text behind another, nor the other way round.
#[test]
fn a_text_of_few_words_is_kept_for_itself() {
    for pair in tokenizers() {
        for text in ["中文，中国人民。".repeat(40), "\u{301}中\n文".repeat(40)] {
            for beginning in ["", "<m>", " ", "<m>", ""] {
                pair.check(&format!("{beginning}{text}"));
                pair.check(&format!("{beginning}{text}<m>{text}"));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn words_together_are_the_text(
        choices in prop::collection::vec((0usize..3, any::<usize>()), 0..60),
        times in prop_oneof![4 => Just(1usize), 1 => Just(30usize)],
    ) {
        thread_local!(static ALL: Vec<Pair> = tokenizers());
        let mut text = String::new();
        for _ in 0..times {
            for &(kind, choice) in &choices {
                match kind {
                    0 => text.push_str(&jeton_testing::hostile_text(&[choice])),
                    _ => text.push_str(WORDS[choice % WORDS.len()]),
                }
            }
        }
        ALL.with(|all| all.iter().for_each(|pair| pair.check(&text)));
    }
}

/// Published vocabularies, on hostile text and on the texts of the golden sets.
#[test]
fn published_tokenizers_cut_and_agree() {
    if !shared::is_there() {
        return;
    }
    let sets = [
        ("bert_base_uncased.json", "bert_base_uncased_hf"),
        ("bert_base_cased.json", "bert_base_cased_hf"),
        ("t5-small.json", "t5-small_hf"),
        ("xlnet_base_cased.json", "xlnet_base_cased_hf"),
        ("llama2.json", "llama2_hf"),
        ("mistral01.json", "mistral01_hf"),
        ("llama2.model", "llama2_spm"),
        ("xlnet_base_cased.model", "xlnet_base_cased_spm"),
    ];
    for (file, set) in sets {
        let bytes = shared::read(&format!("vocab/{file}")).unwrap();
        let pair = Pair::new(file, || {
            let read = if file.ends_with("json") {
                from_hf_json
            } else {
                from_sentencepiece
            };
            read(&bytes).unwrap()
        });
        assert!(pair.cuts(), "{file}");
        for case in shared::golden(set).unwrap().iter().step_by(7) {
            pair.check(&case.text);
        }
        let mut all = String::new();
        for first in 0..140 {
            let text =
                jeton_testing::hostile_text(&[first, first * 7 + 3, 16, first * 31 + 5, first * 3]);
            pair.check(&text);
            all.push_str(&text);
        }
        pair.check(&all);
    }
}
