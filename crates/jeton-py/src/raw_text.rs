//! Texts where Python, or an Arrow array, keeps them.
//!
//! A `str` is ASCII nearly always, and then its characters are its UTF-8: nothing is copied. Any
//! other is written as UTF-8 into memory of ours. Python's own way would leave a second copy inside
//! the `str`, for as long as that lives; where somebody has left one, it is read.

#![allow(unsafe_code)] // characters of a `str` without a copy; each use says why it is sound

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, Ordering};

use arrow_array::ArrayRef;
use jeton_core::documents::texts::{Documents, as_text};
use jeton_core::documents::transcode::Kept;
use jeton_core::error::{ErrorKind, Result};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::string::PyStringData;
use pyo3::types::{PyBytes, PyList, PyString, PyStringMethods};

use crate::arrow;
use crate::error::to_python;
use crate::text::{type_error, type_error_at};

/// A text as it is kept. [`Self::text`] checks that the bytes are valid.
#[derive(Clone, Copy)]
enum Raw<'a> {
    /// Something that should be UTF-8.
    Bytes(&'a [u8]),
    /// Text that Python holds as UTF-8.
    Text(&'a str),
    /// Characters.
    Characters(Kept<'a>),
}

impl<'a> Raw<'a> {
    fn of(text: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(string) = text.cast::<PyString>() {
            if let Some(text) = ascii_text(text).or_else(|| utf8_copy(string)) {
                return Ok(Self::Text(text));
            }
            // SAFETY: what `data` gives are the characters of the `str` in the form that its kind
            // tells. A `str` never changes, and `text` keeps it alive for as long as the slice
            // lives.
            return Ok(match unsafe { string.data() }? {
                PyStringData::Ucs1(characters) => Self::Characters(Kept::One(characters)),
                PyStringData::Ucs2(characters) => Self::Characters(Kept::Two(characters)),
                PyStringData::Ucs4(characters) => Self::Characters(Kept::Four(characters)),
            });
        }
        match text.cast::<PyBytes>() {
            Ok(bytes) => Ok(Self::Bytes(bytes.as_bytes())),
            Err(_) => Err(type_error(text)),
        }
    }

    /// About how many bytes of UTF-8 it has.
    fn size(self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Text(text) => text.len(),
            Self::Characters(Kept::One(characters)) => characters.len(),
            // Letters of two bytes with spaces between them, or of three.
            Self::Characters(characters) => characters.len().saturating_mul(2),
        }
    }

    /// The text if it is UTF-8 already; None if it must be written as such. Bytes that are not
    /// UTF-8 are an error.
    #[inline]
    fn as_it_is(self) -> Result<Option<&'a str>> {
        match self {
            Self::Bytes(bytes) => as_text(bytes).map(Some),
            Self::Text(text) => Ok(Some(text)),
            Self::Characters(_) => Ok(None),
        }
    }

    /// The text, perhaps written into `room`. Half a surrogate pair is an error, as bytes that are
    /// not UTF-8 are.
    fn text<'t>(self, room: &'t mut Vec<u8>) -> Result<&'t str>
    where
        'a: 't,
    {
        match self {
            Self::Bytes(bytes) => as_text(bytes),
            Self::Text(text) => Ok(text),
            Self::Characters(characters) => characters.text(room),
        }
    }
}

/// True if all characters are below U+0080, which a `str` knows of itself.
#[inline]
fn is_ascii(string: &Bound<'_, PyString>) -> bool {
    // SAFETY: a `str` that is alive; what is read was written when it was made.
    unsafe { ffi::PyUnicode_IS_ASCII(string.as_ptr()) != 0 }
}

/// The text of a `str` that is ASCII, without a result that is larger than it: most texts are, and
/// short.
#[inline]
fn ascii_text<'a>(text: &'a Bound<'_, PyAny>) -> Option<&'a str> {
    let string = text
        .cast::<PyString>()
        .ok()
        .filter(|string| is_ascii(string))?;
    let object = string.as_ptr();
    // SAFETY: a `str` that says it is ASCII has as many characters of one byte as it says. It never
    // changes, and `text` keeps it alive for as long as the slice lives. ASCII is UTF-8.
    unsafe {
        let length = usize::try_from(ffi::PyUnicode_GET_LENGTH(object)).ok()?;
        let characters = ffi::PyUnicode_DATA(object).cast::<u8>();
        Some(std::str::from_utf8_unchecked(std::slice::from_raw_parts(
            characters, length,
        )))
    }
}

/// The UTF-8 of a `str` that is not ASCII, if it has been asked for one before, by
/// `PyUnicode_AsUTF8AndSize` say: most extensions that read a `str` do, once. Nothing is written
/// here.
#[inline]
fn utf8_copy<'a>(string: &'a Bound<'_, PyString>) -> Option<&'a str> {
    if is_ascii(string) {
        return None;
    }
    let object = string.as_ptr().cast::<ffi::PyCompactUnicodeObject>();
    // SAFETY: every `str` that is not compact ASCII begins with these fields, and this one is
    // alive. Python writes the length before the pointer (which matters without the global lock,
    // hence the order), and neither again while the `str` lives, which is for as long as the slice
    // does. It makes the copy by encoding, so that it is UTF-8.
    unsafe {
        let utf8 = AtomicPtr::from_ptr(&raw mut (*object).utf8).load(Ordering::Acquire);
        if utf8.is_null() {
            return None;
        }
        let length = usize::try_from((*object).utf8_length).ok()?;
        let bytes = std::slice::from_raw_parts(utf8.cast::<u8>(), length);
        Some(std::str::from_utf8_unchecked(bytes))
    }
}

/// Room for texts that is kept from call to call, in each thread: 256 KB.
const MAX_KEPT_ROOM: usize = 256 << 10;

/// Characters of a text that is better not made UTF-8 as a whole.
const MANY_CHARACTERS: usize = 256 << 10;

thread_local! {
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Lends the UTF-8 of a `str` or of `bytes`; anything else, and what is not valid Unicode, is an
/// error.
#[inline]
pub(crate) fn with_text<R>(
    text: &Bound<'_, PyAny>,
    use_text: impl FnOnce(&str) -> PyResult<R>,
) -> PyResult<R> {
    if let Some(text) = ascii_text(text) {
        return use_text(text);
    }
    let raw = Raw::of(text)?;
    let invalid = |error| to_python(text.py(), &error);
    if let Some(text) = raw.as_it_is().map_err(invalid)? {
        return use_text(text);
    }
    // Taken out, because what is done with the text may come back here.
    let mut room = ROOM.take();
    let result = match raw.text(&mut room) {
        Ok(text) => use_text(text),
        Err(error) => Err(invalid(error)),
    };
    if room.len() <= MAX_KEPT_ROOM {
        ROOM.set(room);
    }
    result
}

/// A long text that is not UTF-8 where it lies: its characters. Anything else is for [`with_text`],
/// which says what is wrong with it.
#[inline]
pub(crate) fn long_characters<'a>(text: &'a Bound<'_, PyAny>) -> Option<Kept<'a>> {
    if ascii_text(text).is_some() {
        return None;
    }
    match Raw::of(text) {
        Ok(Raw::Characters(characters)) if characters.len() >= MANY_CHARACTERS => Some(characters),
        _ => None,
    }
}

/// Texts that stay where they are, held so that they do.
pub(crate) struct GivenTexts {
    /// They live as long as what owns them, below; nobody gets them for longer than the borrow of
    /// this.
    texts: Vec<Raw<'static>>,
    objects: Vec<Py<PyAny>>,
    arrays: Vec<ArrayRef>,
}

impl GivenTexts {
    /// The texts of an iterable of `str` and `bytes`, or of an Arrow array or stream of them.
    pub(crate) fn new(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut made = Self {
            texts: Vec::new(),
            objects: Vec::new(),
            arrays: Vec::new(),
        };
        if let Ok(list) = given.cast_exact::<PyList>() {
            made.texts.reserve(list.len());
            made.objects.reserve(list.len());
            for text in list {
                made.push(text)?;
            }
        } else if let Some(arrays) = arrow::arrays(given)? {
            for array in arrays {
                made.push_array(array)?;
            }
        } else {
            for text in given.try_iter()? {
                made.push(text?)?;
            }
        }
        Ok(made)
    }

    fn push(&mut self, text: Bound<'_, PyAny>) -> PyResult<()> {
        let raw = Raw::of(&text).map_err(|error| {
            let is_text = text.is_instance_of::<PyString>() || text.is_instance_of::<PyBytes>();
            if is_text {
                error
            } else {
                type_error_at(&text, self.objects.len())
            }
        })?;
        // SAFETY: the slice belongs to an object that never changes or moves its characters; the
        // object lives at least as long as `self`, which owns a reference to it and gives the slice
        // to nobody for longer.
        self.texts
            .push(unsafe { std::mem::transmute::<Raw<'_>, Raw<'static>>(raw) });
        self.objects.push(text.unbind());
        Ok(())
    }

    fn push_array(&mut self, array: ArrayRef) -> PyResult<()> {
        let array = arrow::of_bytes(array)?;
        let texts = &mut self.texts;
        texts.reserve(array.len());
        arrow::each(&array, &mut |bytes| {
            // SAFETY: the bytes lie in a buffer of the array, which `self` owns; who made it
            // promises not to change them (Arrow's arrays are immutable), and `self` gives the
            // slice to nobody for longer than it lives.
            texts.push(unsafe { std::mem::transmute::<Raw<'_>, Raw<'static>>(Raw::Bytes(bytes)) });
            Ok(())
        })?;
        self.arrays.push(array);
        Ok(())
    }
}

impl Documents for GivenTexts {
    fn len(&self) -> usize {
        self.texts.len()
    }

    fn size(&self, index: usize) -> usize {
        self.texts.get(index).map_or(0, |text| text.size())
    }

    fn text<'t>(&'t self, index: usize, room: &'t mut Vec<u8>) -> Result<&'t str> {
        match self.texts.get(index) {
            Some(text) => text.text(room),
            None => Err(ErrorKind::InvalidUtf8 { byte_offset: 0 }.into()),
        }
    }
}
