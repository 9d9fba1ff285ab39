//! Bytes that are written in base64 in the canonical form.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::{Deserialize, Serialize};

/// Bytes, written in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Base64Bytes(pub Vec<u8>);

impl From<Base64Bytes> for String {
    fn from(bytes: Base64Bytes) -> Self {
        BASE64_STANDARD.encode(bytes.0)
    }
}

impl TryFrom<String> for Base64Bytes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let decoded = BASE64_STANDARD.decode(&text);
        decoded.map(Self).map_err(|error| {
            // A charsmap may be a megabyte: its beginning tells which it is.
            const SHOWN_CHARS: usize = 40;
            let shown: String = text.chars().take(SHOWN_CHARS).collect();
            format!("{shown:?} is not base64: {error}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_and_read() {
        let bytes = Base64Bytes(vec![0, 255, 7]);
        let written = serde_json::to_string(&bytes).unwrap();
        assert_eq!(written, "\"AP8H\"");
        assert_eq!(
            serde_json::from_str::<Base64Bytes>(&written).unwrap(),
            bytes
        );
        assert!(serde_json::from_str::<Base64Bytes>("\"A!\"").is_err());
    }
}
