//! Tokens by their ids, bytes and strings.

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use super::Tokenizer;
use crate::error::unknown_id;

#[pymethods]
impl Tokenizer {
    /// Returns the bytes of a token: its share of a decoded text that has others around it.
    ///
    /// They do not depend on how the file spells tokens: ``▁the``, ``Ġthe`` and the ``the`` of a
    /// WordPiece vocabulary are ``b" the"``, and ``<0xE2>`` is ``b"\xe2"``. A suffix that ends
    /// words (``</w>``) is a space. Special tokens, and the one for unknown text, have the bytes of
    /// their names.
    ///
    /// Raises:
    ///     UnknownTokenIdError: The id has no token.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> [tok.id_to_bytes(id) for id in tok.encode("Hello there")]
    ///     [b'Hello', b' there']
    fn id_to_bytes<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let ids = self.collect_ids(PyTuple::new(py, [id])?.as_any())?;
        // One id was given, so there is one.
        let bytes = ids.first().and_then(|&id| self.core.token_bytes(id));
        bytes
            .map(|bytes| PyBytes::new(py, bytes))
            .ok_or_else(|| unknown_id(id, self.core.vocab().size()))
    }

    /// Returns the id whose token has exactly these bytes, as ``id_to_bytes`` gives them; else
    /// None.
    ///
    /// Among several tokens of equal bytes the first counts that is no byte of last resort and no
    /// special token.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.encode("Hello") == [tok.bytes_to_id(b"Hello")]
    ///     True
    ///     >>> tok.bytes_to_id(b"no such token") is None
    ///     True
    fn bytes_to_id(&self, token_bytes: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        if let Ok(bytes) = token_bytes.cast::<PyBytes>() {
            return Ok(self.core.bytes_to_token(bytes.as_bytes()));
        }
        let Ok(bytes) = token_bytes.extract::<Vec<u8>>() else {
            return Err(PyTypeError::new_err(format!(
                "token_bytes must be bytes, not {}\n\
                 hint: text.encode() gives those of a text; token_to_id takes the string that the file has",
                token_bytes.get_type().name()?
            )));
        };
        Ok(self.core.bytes_to_token(&bytes))
    }

    /// Returns the bytes of each id, uint32 (vocab_size,).
    ///
    /// 0 stands for ids without a token and for tokens that add no bytes.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.token_lengths()[tok.encode("Hello there")].tolist()
    ///     [5, 6]
    fn token_lengths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        let length = |id| {
            self.core
                .token_bytes(id)
                .map_or(0, |bytes| bytes.len() as u32)
        };
        let lengths: Vec<u32> = (0..self.core.vocab().size()).map(length).collect();
        lengths.into_pyarray(py)
    }

    /// Returns True for each id that has a token, bool (vocab_size,).
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.is_token_mask().all()
    ///     np.True_
    fn is_token_mask<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let vocab = self.core.vocab();
        let is_token = |id| vocab.id_to_bytes(id).is_some();
        let mask: Vec<bool> = (0..vocab.size()).map(is_token).collect();
        mask.into_pyarray(py)
    }

    /// Returns the string of an id in the tokenizer's file, ``Ġthe`` or ``▁the``; else None.
    ///
    /// Its bytes are ``id_to_bytes``.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.id_to_token(tok.encode("Hello")[0])
    ///     'Hello'
    ///     >>> tok.id_to_token(99_999) is None
    ///     True
    fn id_to_token(&self, id: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        let ids = self.collect_ids(PyTuple::new(id.py(), [id])?.as_any())?;
        Ok(ids.first().and_then(|&id| self.core.token_name(id)))
    }

    /// Returns the id of a string of ``id_to_token``; else None.
    ///
    /// Among several ids the first counts, added tokens before others.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.token_to_id("<|endoftext|>")
    ///     0
    ///     >>> tok.token_to_id("no such token") is None
    ///     True
    fn token_to_id(&self, token: &str) -> Option<u32> {
        self.core.name_to_token(token)
    }

    /// Returns all tokens by the strings of ``id_to_token``, with their ids.
    ///
    /// Args:
    ///     with_added_tokens: False leaves out special and other added tokens.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.get_vocab()["<|endoftext|>"]
    ///     0
    ///     >>> "<|endoftext|>" in tok.get_vocab(with_added_tokens=False)
    ///     False
    #[pyo3(signature = (*, with_added_tokens=true))]
    fn get_vocab<'py>(
        &self,
        py: Python<'py>,
        with_added_tokens: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (id, name) in self.core.token_names(with_added_tokens) {
            // The first of several ids of one name counts, as in `token_to_id`.
            if !dict.contains(&name)? {
                dict.set_item(name, id)?;
            }
        }
        Ok(dict)
    }
}
