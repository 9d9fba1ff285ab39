//! Small encodings: base64, LEB128, the byte alphabet of GPT-2.

pub mod base64;
pub mod gpt2_alphabet;
pub mod leb128;
