//! Byte tokens in a stream: text if all in a row are UTF-8, U+FFFD for each otherwise.

use super::flow::Flow;

/// Byte tokens in a row.
#[derive(Clone, Debug, Default)]
pub(super) struct ByteRun {
    bytes: Vec<u8>,
    /// How many of them are whole characters.
    checked: usize,
    /// True if they are no UTF-8 whatever follows, so that each is U+FFFD already.
    is_broken: bool,
}

impl ByteRun {
    pub(super) fn push(&mut self, byte: u8, out: &mut Flow) {
        if self.is_broken {
            return out.token("\u{FFFD}");
        }
        self.bytes.push(byte);
        match std::str::from_utf8(&self.bytes[self.checked..]) {
            Ok(_) => self.checked = self.bytes.len(),
            Err(error) if error.error_len().is_none() => self.checked += error.valid_up_to(),
            Err(_) => {
                self.is_broken = true;
                self.bytes.drain(..).for_each(|_| out.token("\u{FFFD}"));
            }
        }
    }

    pub(super) fn finish(&mut self, out: &mut Flow) {
        let bytes = std::mem::take(self).bytes;
        match String::from_utf8(bytes) {
            Ok(text) if text.is_empty() => {}
            Ok(text) => out.token(&text),
            Err(error) => error.as_bytes().iter().for_each(|_| out.token("\u{FFFD}")),
        }
    }
}
