//! The field extraction, rule by rule.

use super::*;

fn read(field: &str, line: &[u8]) -> Result<(String, u64), BadLine> {
    let mut batch = DocumentBatch::new();
    assert!(Field::new(field).push_text(line, false, &mut Vec::new(), &mut batch)?);
    Ok((batch.get(0).unwrap().to_owned(), batch.n_replacements()))
}

fn reason(field: &str, line: &[u8]) -> String {
    match read(field, line) {
        Err(BadLine::Reason(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_text_is_found_among_other_fields_and_below_dots() {
    let line =
        br#" {"id": 7, "x": {"text": "no"}, "text" : "yes \u00e9\n", "l": [1, {"text": 2}]} "#;
    assert_eq!(read("text", line), Ok(("yes é\n".to_owned(), 0)));
    assert_eq!(read("x.text", line), Ok(("no".to_owned(), 0)));
    assert_eq!(
        read("text", br#"{"t\u0065xt": "key with an escape"}"#),
        Ok(("key with an escape".to_owned(), 0))
    );
    assert_eq!(
        read("text", br#"{"text": "first", "text": "l\u0061st"}"#),
        Ok(("last".to_owned(), 0))
    );
}

#[test]
fn lone_surrogates_and_bad_bytes_are_one_replacement_each() {
    let fffd = |text: &str, n| Ok((text.replace('?', "\u{fffd}"), n));
    assert_eq!(read("text", br#"{"text": "a\ud800b"}"#), fffd("a?b", 1));
    assert_eq!(read("text", br#"{"text": "\udc00\ud800"}"#), fffd("??", 2));
    assert_eq!(
        read("text", br#"{"text": "\ud83d\ude00"}"#),
        Ok(("😀".to_owned(), 0))
    );
    assert_eq!(
        read("text", br#"{"text": "\ud83d\ud83d\ude00"}"#),
        fffd("?😀", 1)
    );
    assert_eq!(
        read("text", b"{\"text\": \"a\xf0\x9f\x98b\"}"),
        fffd("a?b", 1)
    );
    // U+FFFD that was there before is not counted; bad bytes that look like a surrogate are three.
    assert_eq!(
        read(
            "text",
            b"{\"text\": \"\\ufffd\xef\xbf\xbd\xed\xa0\x80\\ud800\"}"
        ),
        fffd("??????", 4)
    );
    assert_eq!(
        read("text", b"{\"\xff\": \"\xff\\ud800\", \"text\": \"fine\"}"),
        fffd("fine", 0)
    );
}

#[test]
fn strict_reading_names_the_place_in_the_text() {
    for (line, offset) in [
        (&br#"{"text": "ab\ud800"}"#[..], 2),
        (b"{\"text\": \"a\xff\"}", 1),
    ] {
        let mut batch = DocumentBatch::new();
        let result = Field::new("text").push_text(line, true, &mut Vec::new(), &mut batch);
        assert_eq!(result, Err(BadLine::InvalidText(offset)));
        assert!(batch.is_empty());
    }
}

#[test]
fn a_null_is_no_text_and_no_error() {
    for (field, line, is_null) in [
        ("text", &br#"{"text": null}"#[..], true),
        ("text", br#"{"text": "a", "text": null, "x": 1}"#, true),
        ("text", br#"{"text": null, "text": "a"}"#, false),
        ("a.b", br#"{"a": null}"#, true),
        ("a.b", br#"{"a": {"b": null, "c": 1}}"#, true),
        ("a.b", br#"{"a": null, "a": {"b": ""}}"#, false),
    ] {
        let mut batch = DocumentBatch::new();
        let is_text = Field::new(field).push_text(line, true, &mut Vec::new(), &mut batch);
        assert_eq!(is_text, Ok(!is_null), "{}", String::from_utf8_lossy(line));
        assert_eq!(batch.len(), usize::from(!is_null));
    }
    assert!(reason("a.b", br#"{"a": null, "a": {}}"#).starts_with("no field"));
    assert!(reason("text", b"{\"text\": nul}").starts_with("not valid JSON: "));
}

#[test]
fn reasons_say_what_was_found_and_expected() {
    assert_eq!(
        reason("text", br#"{"text": 12}"#),
        r#"invalid type: integer `12`, expected a string in the field "text" (column 11)"#
    );
    assert_eq!(
        reason("a.b", b"null"),
        r#"invalid type: null, expected an object with the field "a.b" (column 4)"#
    );
    assert_eq!(
        reason("text", br#"{"id": 1, "body": ""}"#),
        r#"no field "text"; the fields there are "id", "body""#
    );
    assert_eq!(
        reason("a.b", br#"{"x": 1, "a": {"c": 1}}"#),
        r#"no field "a.b"; the fields there are "c""#
    );
    assert_eq!(
        reason("text", b"{}"),
        r#"no field "text": the object is empty"#
    );
    for line in [
        &b"{\"text\": \"a"[..],
        b"{\"text\": \"a\"} x",
        b"{'text': 1}",
        b"{\"text\": \"a\tb\"}",
        b"\xff",
    ] {
        assert!(
            reason("text", line).starts_with("not valid JSON: "),
            "{line:?}"
        );
    }
    assert!(
        reason("text", br#"["text"]"#).starts_with("invalid type: sequence, expected an object")
    );
    assert!(
        reason("text", br#"{"text": ["a"]}"#)
            .starts_with("invalid type: sequence, expected a string")
    );
    let long = format!("{{\"{}\": 1}}", "k".repeat(100_000));
    assert!(reason("text", long.as_bytes()).len() < 400);
}

#[test]
fn tabs_between_tokens_and_deep_nesting_are_fine() {
    assert_eq!(
        read("text", b"{\t\"text\":\t\"a\"\r}"),
        Ok(("a".to_owned(), 0))
    );
    let deep = format!(
        "{{\"x\": {}{}, \"text\": \"a\"}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(read("text", deep.as_bytes()), Ok(("a".to_owned(), 0)));
}

#[test]
fn a_key_with_dots_goes_before_what_the_dots_descend_to() {
    let text = |field: &str, line: &str| read(field, line.as_bytes()).unwrap().0;
    assert_eq!(text("m.text", r#"{"m.text": "flat"}"#), "flat");
    assert_eq!(
        text("m.text", r#"{"m": {"text": "deep"}, "m.text": "flat"}"#),
        "flat"
    );
    assert_eq!(
        text("m.text", r#"{"m": {"text": "deep"}, "a": "m.text"}"#),
        "deep"
    );
    assert_eq!(text("a.b.c", r#"{"a": {"b.c": "inner"}}"#), "inner");
    assert_eq!(
        text("a.b.c", r#"{"a.b": {"c": "outer"}, "a": {"b.c": "inner"}}"#),
        "outer"
    );
    assert_eq!(text("a.b.c.d.e.f", r#"{"a.b.c.d.e.f": "flat"}"#), "flat");
    assert!(
        reason("m.text", br#"{"m.text": 1, "m": {"text": "deep"}}"#).starts_with("invalid type")
    );
}
