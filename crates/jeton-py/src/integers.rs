//! Ids as Python's integers: lists of ids, and back.
//!
//! A list of ids is made of integers that exist already. The integer of an id is made when the id
//! is met first, and is kept as long as the tokenizer. So a list costs a count and a pointer for
//! each id, not an allocation.

#![allow(unsafe_code)] // borrowed integers in an array of pointers; each use says why it is sound

use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};

/// Bytes of a small integer of `CPython` 3.11 (64 bits), as `sys.getsizeof` has it (28) and its
/// allocator rounds it.
const INTEGER_BYTES: usize = 32;

/// The integers of a vocabulary's ids, made when they are met.
pub(crate) struct Integers {
    /// By id: none yet, or an integer of which this owns one reference.
    made: Box<[AtomicPtr<ffi::PyObject>]>,
    n_made: AtomicUsize,
}

impl Integers {
    /// None is made yet. Where threads run at once without a global lock, none ever is: they would
    /// all wait for the count of references of the same few integers.
    pub(crate) fn new(py: Python<'_>, vocab_size: u32) -> Self {
        let slots = if shares_integers(py) {
            vocab_size as usize
        } else {
            0
        };
        // Zeros that the system gives: memory that no id has touched is not there.
        let mut zeros = std::mem::ManuallyDrop::new(vec![0usize; slots]);
        // SAFETY: the parts come from a vector that is not dropped; `AtomicPtr` has size,
        // alignment and bit validity of a pointer, those are a `usize`'s on every platform that
        // Python runs on, and zero is null.
        let made: Vec<AtomicPtr<ffi::PyObject>> = unsafe {
            Vec::from_raw_parts(zeros.as_mut_ptr().cast(), zeros.len(), zeros.capacity())
        };
        Self {
            made: made.into_boxed_slice(),
            n_made: AtomicUsize::new(0),
        }
    }

    /// Bytes that the integers and the array of them take.
    pub(crate) fn n_bytes(&self) -> usize {
        self.made.len() * size_of::<usize>() + self.n_made.load(Ordering::Relaxed) * INTEGER_BYTES
    }

    /// A list of ids.
    pub(crate) fn list<'py>(&self, py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
        let n = isize::try_from(ids.len())?;
        // SAFETY: Python's lock is held (`py`). A new list of `n` places is ours alone; each place
        // is filled once, with a reference that the list takes over. If one cannot be made, the
        // list is dropped with places that are null, which its destructor allows for.
        unsafe {
            let list = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(n))?;
            for (place, &id) in (0..n).zip(ids) {
                let integer = self.integer(id);
                if integer.is_null() {
                    return Err(PyErr::fetch(py));
                }
                ffi::PyList_SET_ITEM(list.as_ptr(), place, integer);
            }
            Ok(list.cast_into_unchecked())
        }
    }

    /// Gives back what was made.
    pub(crate) fn clear(&self, _py: Python<'_>) {
        for slot in &self.made {
            let integer = slot.swap(std::ptr::null_mut(), Ordering::AcqRel);
            if !integer.is_null() {
                self.n_made.fetch_sub(1, Ordering::Relaxed);
                // SAFETY: the lock is held, so nobody is between reading this slot and counting its
                // integer; the slot owned this reference, and is empty now.
                unsafe { ffi::Py_DECREF(integer) };
            }
        }
    }

    /// A new reference to the integer of an id; null, with Python's error set, if there is no
    /// memory.
    ///
    /// # Safety
    /// Python's lock must be held.
    #[inline]
    unsafe fn integer(&self, id: u32) -> *mut ffi::PyObject {
        let Some(slot) = self.made.get(id as usize) else {
            // SAFETY: the caller holds the lock.
            return unsafe { ffi::PyLong_FromUnsignedLongLong(u64::from(id)) };
        };
        let known = slot.load(Ordering::Acquire);
        if known.is_null() {
            // SAFETY: the caller holds the lock.
            return unsafe { self.make(slot, id) };
        }
        // SAFETY: a slot that is not null holds an integer of which this owns a reference, so it is
        // alive.
        unsafe { ffi::Py_INCREF(known) };
        known
    }

    /// # Safety
    /// Python's lock must be held.
    #[cold]
    unsafe fn make(&self, slot: &AtomicPtr<ffi::PyObject>, id: u32) -> *mut ffi::PyObject {
        // SAFETY: the caller holds the lock; `new` is null or a reference of our own. It is put
        // into the slot if that is still empty, and counted once more there; otherwise whoever
        // calls gets it, and the slot keeps the one it has.
        unsafe {
            let new = ffi::PyLong_FromUnsignedLongLong(u64::from(id));
            if new.is_null() {
                return new;
            }
            let put = slot.compare_exchange(
                std::ptr::null_mut(),
                new,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            if put.is_ok() {
                ffi::Py_INCREF(new);
                self.n_made.fetch_add(1, Ordering::Relaxed);
            }
            new
        }
    }
}

impl Drop for Integers {
    fn drop(&mut self) {
        // Without the lock (Python is going down) they stay.
        let _ = Python::try_attach(|py| self.clear(py));
    }
}

/// True if integers may be shared between threads at no cost: there is a global lock.
fn shares_integers(py: Python<'_>) -> bool {
    let enabled = py
        .import("sys")
        .and_then(|sys| sys.call_method0("_is_gil_enabled"))
        .and_then(|enabled| enabled.extract::<bool>());
    // Python before 3.13 has no such function, and no other kind of build.
    enabled.unwrap_or(true)
}

/// The numbers of a list; None if one is something else than an `int` from 0 to 2**32 - 1, which
/// needs a closer look.
pub(crate) fn numbers(list: &Bound<'_, PyList>) -> Option<Vec<u32>> {
    let mut numbers = Vec::with_capacity(list.len());
    for item in list {
        if !item.is_exact_instance_of::<PyInt>() {
            return None;
        }
        let mut overflow: c_int = 0;
        // SAFETY: the lock is held (`item` is bound) and `item` is an `int`, for which no error is
        // set.
        let number = unsafe { ffi::PyLong_AsLongAndOverflow(item.as_ptr(), &raw mut overflow) };
        if overflow != 0 {
            return None;
        }
        numbers.push(u32::try_from(number).ok()?);
    }
    Some(numbers)
}
