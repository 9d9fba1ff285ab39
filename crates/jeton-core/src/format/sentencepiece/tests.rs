//! Reading SentencePiece files: every field, byte-equal writing, and damage of any kind.

use super::*;
use proptest::prelude::*;

/// A small file with every kind of field, some that nobody knows among them.
fn sample(order_as_usual: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let unk = [0x0A, 1, b'?', 0x15, 0, 0, 0, 0, 0x18, 2];
    let a = [0x0A, 1, b'a', 0x15, 0, 0, 0x80, 0xBF];
    // Field 250 of a piece: an extension.
    let b = [0x0A, 1, b'b', 0xD0, 0x0F, 5];
    let mut trainer = vec![3 << 3, 2];
    put_varint(&mut trainer, 43 << 3);
    put_varint(&mut trainer, u64::MAX); // -1
    put_bytes(&mut trainer, 7, b"text");
    if !order_as_usual {
        put_bytes(&mut out, 2, &trainer);
    }
    for piece in [&unk[..], &a, &b] {
        put_bytes(&mut out, 1, piece);
    }
    if order_as_usual {
        put_bytes(&mut out, 2, &trainer);
    }
    put_bytes(&mut out, 3, &[3 << 3, 0]);
    put_bytes(&mut out, 300, b"later");
    out
}

#[test]
fn reads_and_writes_what_it_read() {
    for order_as_usual in [true, false] {
        let bytes = sample(order_as_usual);
        let file = SpmFile::from_bytes(&bytes).unwrap();
        assert_eq!(file.unread.verbatim.is_none(), order_as_usual);
        assert_eq!(file.to_bytes(), bytes);
        let model = &file.model;
        assert_eq!(model.pieces.len(), 3);
        assert_eq!(model.pieces[0].kind, PieceKind::Unknown);
        assert_eq!(model.pieces[1].score.to_bits(), (-1.0f32).to_bits());
        assert_eq!(model.pieces[2].kind, PieceKind::Normal);
        assert_eq!(model.trainer.model_type, ModelType::Bpe);
        assert_eq!(model.trainer.pad_id, -1);
        assert!(!model.normalizer.add_dummy_prefix && model.normalizer.escape_whitespaces);
        assert!(model.denormalizer.is_none());
    }
}

#[test]
fn errors_say_where() {
    let error = SpmFile::from_bytes(&[0x0A, 0x7F, 0]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not a valid SentencePiece model file: byte 2: a field of 127 bytes where 1 are left"
    );
    assert!(SpmFile::from_bytes(b"").is_err());
    let mut bytes = sample(true);
    let trainer = bytes.len();
    put_bytes(&mut bytes, 2, &[0xE2, 0x02, 1, 0xFF]);
    let error = SpmFile::from_bytes(&bytes).unwrap_err();
    let expected = format!("byte {}: unk_surface is not UTF-8", trainer + 5);
    assert!(error.to_string().ends_with(&expected), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(file) = SpmFile::from_bytes(&bytes) {
            prop_assert_eq!(file.to_bytes(), bytes);
        }
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        cut in 0..100usize, at in 0..100usize, byte: u8, usual: bool,
    ) {
        let mut bytes = sample(usual);
        bytes.truncate(cut.max(1));
        let n = bytes.len();
        bytes[at % n] = byte;
        if let Ok(file) = SpmFile::from_bytes(&bytes) {
            prop_assert_eq!(file.to_bytes(), bytes);
        }
    }
}
