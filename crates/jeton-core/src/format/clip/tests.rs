//! Reading CLIP's merges: the vocabulary that they make, what is refused, damage.

use proptest::prelude::*;

use super::*;

/// Enough merges: a chain of digits and letters that never repeats.
fn file() -> Vec<u8> {
    let mut lines = vec!["#version".to_owned()];
    let letters: Vec<char> = ('!'..='~').collect();
    let pairs = letters
        .iter()
        .flat_map(|a| letters.iter().map(move |b| (a, b)));
    let pairs: Vec<(char, char)> = pairs.map(|(a, b)| (*a, *b)).collect();
    lines.extend(pairs.iter().map(|(a, b)| format!("{a} {b}")));
    lines.extend(pairs.iter().map(|(a, b)| format!("{a} {b}</w>")));
    for c in &letters[..4] {
        lines.extend(pairs.iter().map(|(a, b)| format!("{c} {a}{b}")));
    }
    lines.truncate(N_MERGES + 1);
    lines.push("not looked at".to_owned());
    lines.join("\n").into_bytes()
}

#[test]
fn the_vocabulary_is_that_of_openai() {
    let parts = read(&file()).unwrap();
    assert_eq!(parts.tokens.len(), 49_406);
    assert_eq!(parts.merges.len(), N_MERGES);
    assert_eq!(parts.template, (49_406, 49_407));
    // The printable characters come first; the space is the first of the others but 32.
    assert_eq!(parts.tokens[0], "!");
    assert_eq!(parts.tokens[187], "ÿ");
    assert_eq!(parts.tokens[188], "Ā");
    assert_eq!(parts.tokens[220], "Ġ");
    assert_eq!(parts.tokens[256], "!</w>");
    assert_eq!(parts.tokens[512], "!!");
    assert_eq!(parts.merges[1], (0, 1));
    assert_eq!(parts.tokens[513], "!\"");
}

#[test]
fn bad_files_are_refused_with_the_line() {
    let change = |line: usize, text: &str| {
        let file = String::from_utf8(file()).unwrap();
        let mut lines: Vec<&str> = file.split('\n').collect();
        lines[line - 1] = text;
        read(lines.join("\n").as_bytes()).unwrap_err().to_string()
    };
    for (message, expected) in [
        (change(3, "a"), "line 3: expected two tokens"),
        (change(3, "a b c"), "line 3: expected two tokens"),
        (
            change(2, "a bc"),
            "line 2: no merge before this line makes \"bc\"",
        ),
        (
            change(3, "! !"),
            "line 3: it makes \"!!\", which has the id 512",
        ),
    ] {
        assert!(message.contains(expected), "{message}");
    }
    let message = read(b"x\n! !\n").unwrap_err().to_string();
    assert!(message.contains("line 3: expected two tokens"), "{message}");
    let message = read(b"x\n! !").unwrap_err().to_string();
    assert!(
        message.contains("1 merges where 48894 are used"),
        "{message}"
    );
    let message = read(b"x\n\x1f\x8b\n").unwrap_err().to_string();
    assert!(
        message.contains("line 2: the line is not UTF-8"),
        "{message}"
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read(&bytes).is_err());
    }
}
