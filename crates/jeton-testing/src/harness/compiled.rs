//! The target of compiled tokenizers.

use jeton_core::compiled::{from_bytes, sealed, to_bytes};
use jeton_core::format::to_canonical;
use jeton_core::special::Allow;
use jeton_core::tokenizer::Tokenizer;

use super::{TEXTS, tail};

/// A compiled tokenizer: as it stands, and as what follows a header, which fits then. A checksum is
/// no promise of whoever made the file, so that nothing is asked of a tokenizer but that it does
/// not panic.
pub fn compiled(data: &[u8]) -> bool {
    let mut is_read = false;
    for read in [from_bytes(data), from_bytes(&sealed(data))] {
        let Ok((tokenizer, name)) = read else {
            continue;
        };
        is_read = true;
        use_it(&tokenizer, &tail(data));
        if let Ok(written) = to_bytes(&tokenizer, name.as_deref()) {
            let (again, same_name) = from_bytes(&written).expect("what was written is read");
            assert_eq!(same_name, name, "another name");
            assert!(
                to_bytes(&again, name.as_deref()).is_ok_and(|more| more == written),
                "a compiled tokenizer changes each time"
            );
        }
    }
    is_read
}

fn use_it(tokenizer: &Tokenizer, tail: &str) {
    for text in [TEXTS[0], TEXTS[1], tail] {
        for allow in [Allow::None, Allow::All] {
            let mut ids = Vec::new();
            if tokenizer.encode_into(text, &allow, true, &mut ids).is_ok() {
                let _ = tokenizer.decode_into(&ids, false, &mut Vec::new());
            }
            let _ = tokenizer.encode_with_offsets(text, &allow, true, true);
            let _ = tokenizer.count(text, &allow);
        }
    }
    let _ = to_canonical(tokenizer);
}
