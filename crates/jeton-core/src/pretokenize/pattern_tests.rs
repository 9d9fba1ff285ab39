//! Patterns in both dialects: what is read, what is refused, what they cost.

use super::*;

fn parsed(pattern: &str) -> Result<Ast, ParseError> {
    parse(pattern, Dialect::FancyRegex, UnicodeVersion::REFERENCES)
}

#[test]
fn accepts_what_published_patterns_use() {
    for pattern in crate::pretokenize::published::PATTERNS.iter().map(|p| p.1) {
        parsed(pattern).unwrap();
    }
    for pattern in [
        r"[]a]",
        r"[^]a]",
        r"a{2}",
        r"a{,3}",
        r"{",
        r"a{b",
        r"(?i)s|(?-i:t)",
        r"(?<name>a)",
        r"\u{4e00}",
    ] {
        parsed(pattern).unwrap_or_else(|error| panic!("{pattern}: {error:?}"));
    }
}

#[test]
fn dialects_differ() {
    let possessive = |dialect| match parse("a{1,3}+", dialect, UnicodeVersion::REFERENCES).unwrap()
    {
        Ast::Repeat { greed, .. } => greed == Greed::Possessive,
        _ => false,
    };
    assert!(possessive(Dialect::FancyRegex) && !possessive(Dialect::Oniguruma));
    let end = parse("$", Dialect::Oniguruma, UnicodeVersion::REFERENCES).unwrap();
    assert!(matches!(end, Ast::NextIsNot(_)));
}

#[test]
fn words_of_oniguruma() {
    let class =
        |pattern| match parse(pattern, Dialect::Oniguruma, UnicodeVersion::REFERENCES).unwrap() {
            Ast::Class(class) => class,
            other => panic!("{other:?}"),
        };
    let has = |pattern, c| crate::text::unicode::contains(&class(pattern), c);
    assert!(
        has(r"\w", '\u{b2}')
            && !has(r"\w", '\u{200d}')
            && has(r"\W", '\u{200d}')
            && has(r"\w", 'a')
    );
    assert!(
        !has(r"[\w]", '\u{b2}')
            && !has(r"[\w]", '\u{200d}')
            && has(r"[^\w]", '\u{200d}')
            && has(r"[\\w]", 'w')
    );
}

#[test]
fn names_what_is_beyond_it() {
    for pattern in [
        r"(?<=ab)c",
        r"(?>a)",
        r"(a)\1",
        r"\b+word",
        r"\<word",
        r"(?!ab)c",
        r"^*a",
    ] {
        assert!(
            matches!(parsed(pattern), Err(ParseError::Beyond(_))),
            "{pattern}"
        );
    }
}

#[test]
fn refuses_what_is_wrong() {
    for pattern in [
        "(",
        ")",
        "[a",
        "*a",
        "a{3,1}",
        r"\p{Nope}",
        r"a{100000}",
        "\\",
        "(?i",
    ] {
        assert!(
            matches!(parsed(pattern), Err(ParseError::Bad { .. })),
            "{pattern}"
        );
    }
    let deep = "(".repeat(100) + "a" + &")".repeat(100);
    assert!(matches!(parsed(&deep), Err(ParseError::Bad { .. })));
}

fn oniguruma(pattern: &str) -> Result<Ast, ParseError> {
    parse(pattern, Dialect::Oniguruma, UnicodeVersion::REFERENCES)
}

/// The pieces of a text, matches apart, in Oniguruma's dialect.
fn pieces(pattern: &str, text: &str) -> Vec<String> {
    let config = crate::pretokenize::SplitConfig {
        pattern: pattern.to_owned(),
        dialect: Dialect::Oniguruma,
        unicode: UnicodeVersion::REFERENCES,
        behavior: crate::pretokenize::Behavior::Isolated,
        invert: false,
        in_byte_alphabet: false,
    };
    let mut out = Vec::new();
    config
        .compile()
        .unwrap()
        .split(text, &mut |start, end| {
            out.push(text[start..end].to_owned());
            Ok(())
        })
        .unwrap();
    out
}

#[test]
fn oniguruma_reads_its_own_way() {
    // (pattern, text, what `tokenizers` 0.23.3 splits it to)
    let cases: &[(&str, &str, &[&str])] = &[
        ("a(?i)b|c", "ca aB ac", &["ca ", "aB", " ", "ac"]), // the flag reaches over the bar
        ("(?i:ss)", "xßxẞxſSx", &["x", "ß", "x", "ẞ", "x", "ſS", "x"]),
        ("(?i:ß)", "ssxSſ", &["ss", "x", "Sſ"]),
        ("(?i:[ß])", "ssx", &["ss", "x"]),
        ("(?i:sss)", "sßxßs", &["sß", "x", "ßs"]),
        (r"(?i:\p{Lu})", "aA", &["a", "A"]),
        (r"(?i:[\p{Lu}])", "1aA", &["1", "a", "A"]),
        (r"\p{^L}+", "a12b", &["a", "12", "b"]),
        (r"\pL", "xpLx", &["x", "pL", "x"]),
        ("[[:alpha:]]+", "é1字", &["é", "1", "字"]),
        ("[[:^alpha:]]+", "é1字", &["é", "1", "字"]),
        ("[[:punct:]]", "a$b!", &["a", "$", "b", "!"]),
        (r"\p{Punct}", "a$b!", &["a$b", "!"]),
        ("a{2}?b", "aabxb", &["aab", "x", "b"]), // (a{2})?
        ("b{3,2}", "bbbb", &["bbb", "b"]),
        (r"\h+", "xFf0", &["x", "Ff0"]),
        ("(?m:.)+", "a\nb", &["a\nb"]),
        ("^b", "ab\nb\n", &["ab\n", "b", "\n"]),
        (r"(?<=[a-z])(?=[A-Z])", "fooBar", &["foo", "Bar"]), // a match of nothing separates
        (r"(?<n>a|b)\k<n>", "abba", &["a", "bb", "a"]),
        (r"(?x) a b # c", "cab", &["c", "ab"]),
        (r"a(?#x)+", "baa", &["b", "aa"]),
        (r"\b\w+", "a\u{200d}b", &["a", "\u{200d}", "b"]),
        ("[a-c-e]+", "d-e", &["d", "-e"]),
        ("[a-z&&[^aeiou]]+", "abcde", &["a", "bcd", "e"]),
        ("[a--b]", "xb-a", &["x"]),
    ];
    for (pattern, text, expected) in cases.iter().filter(|case| case.0 != "[a--b]") {
        assert_eq!(pieces(pattern, text), *expected, "{pattern} in {text:?}");
    }
    // A range from "a" to "-" is reversed; regex-syntax would read a difference.
    assert!(matches!(oniguruma("[a--b]"), Err(ParseError::Bad { .. })));
}

#[test]
fn what_oniguruma_can_and_we_cannot_is_named() {
    for (pattern, name) in [
        (r"\X", r"\X"),
        (r"a\Kb", r"\K"),
        (r"\Ga", r"\G"),
        (r"(?<n>a)\g<n>", r"\g"),
        ("(a)?(?(1)b|c)", "conditional"),
        ("(?~ab)", "absent"),
        ("(*FAIL)", "callout"),
        ("(?{x})", "callout"),
        (r"(?W)\w", "flag W"),
        (r"\p{InHiragana}", "block"),
        (r"\cA", "control"),
        (r"\xC3\xA9", r"\x{...}"),
        (r"(?i:(a)\1)", "ignores case"),
        ("(?s).", "flag s"),
    ] {
        match oniguruma(pattern) {
            Err(ParseError::Bad { reason, .. }) => {
                assert!(reason.contains(name), "{pattern}: {reason}");
            }
            other => panic!("{pattern}: {other:?}"),
        }
    }
}

#[test]
fn hostile_patterns_are_refused_at_once() {
    let repeated = |part: &str, n: usize| part.repeat(n);
    for dialect in [Dialect::Oniguruma, Dialect::FancyRegex] {
        for pattern in [
            "(a{1000}){1000}".to_owned(),
            "((a{1000}){1000}){1000}".to_owned(),
            r"(?:(?=\w{1000})b){1000}".to_owned(),
            repeated(r"(?<=a)\w{1000}", 1000),
            repeated("(", 10_000),
            repeated("(?:", 10_000) + "a" + &repeated(")", 10_000),
            repeated("[", 10_000),
            repeated("a?", 30_000),
            repeated("a", 70_000),
        ] {
            let shown = &pattern[..pattern.len().min(40)];
            let error = parse(&pattern, dialect, UnicodeVersion::REFERENCES)
                .and_then(|_| translate(&pattern, dialect, UnicodeVersion::REFERENCES).map(drop));
            assert!(matches!(error, Err(ParseError::Bad { .. })), "{shown}");
        }
    }
    assert!(oniguruma(&format!("(?i:{})", repeated("s", 100))).is_err());
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_pattern_or_an_error(pattern in r"[ab\[\]()|*+?{},0-9\\^$&:=!<>ipnkwxPL#.~'ßé-]{0,40}") {
        for dialect in [Dialect::Oniguruma, Dialect::FancyRegex] {
            let _ = parse(&pattern, dialect, UnicodeVersion::REFERENCES);
            let _ = translate(&pattern, dialect, UnicodeVersion::REFERENCES);
        }
    }
}
