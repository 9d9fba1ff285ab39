//! Arrays of ids side by side in huge pages, where many of them are kept.
//!
//! A text of some KB becomes an array of two KB. Whoever keeps thousands of those needs new memory all the time, and the system gives
//! it in pages of 4 KB, each of which interrupts the writing for one or two microseconds: a tenth of what it takes to encode text that is
//! new. A sheet is one huge page, which comes at once; arrays lie in it one behind the other and keep it as their base.
//!
//! What lies in a sheet is not given back by itself. So there are sheets only while arrays are kept: they begin when the allocator's
//! arrays no longer come where others were before, begin anew when nobody has an array of theirs any more, and none is added while less
//! than half of what was put into sheets is still in use: then memory is the allocator's, which fills gaps. An allocator with many gaps
//! may fill one after the other although nothing is kept; then there is one sheet, which begins anew with each array.
#![allow(unsafe_code)] // arrays refer to parts of a sheet

use std::mem::size_of;
use std::sync::{Arc, Mutex};

use jeton_core::huge::{HUGE_PAGE, Huge};
use numpy::ndarray::ArrayView1;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};

/// Whether the system gives huge pages, and there is a lock that makes the number of an object's references certain. Without either
/// there are no sheets.
const HAS_SHEETS: bool = cfg!(all(target_os = "linux", not(Py_GIL_DISABLED)));
/// Ids in a sheet.
const ROOM: usize = HUGE_PAGE / size_of::<u32>();
/// Arrays of so many ids may lie in a sheet. `NumPy` keeps memory for shorter ones itself, and longer ones are a few pages at once.
const LEAST: usize = 256;
const MOST: usize = 16 << 10;
/// Sheets begin when of so many arrays of the allocator ...
const OF_LAST: usize = 2048;
/// ... so many bytes lie where no other one did: the others were dropped, and their memory came again.
const KEPT: usize = 256 << 10;
/// Places that are recognized.
const N_PLACES: usize = 512;
/// Sheets that wait for their next use.
const MOST_SPARE: usize = 4;

/// Memory of sheets that nobody has an array of any more.
type Spare = Arc<Mutex<Vec<Huge<u32>>>>;

/// Memory that arrays are parts of.
#[pyclass(frozen, weakref, module = "jeton._core")]
pub(crate) struct Sheet {
    /// Only read and written through arrays, and before there is one.
    memory: Huge<u32>,
    spare: Spare,
}

/// How many references there are to an object, this one included.
fn n_references<T>(object: &Bound<'_, T>) -> isize {
    // SAFETY: it is there, and so is the lock.
    unsafe { pyo3::ffi::Py_REFCNT(object.as_ptr()) }
}

impl Drop for Sheet {
    fn drop(&mut self) {
        // Whoever has the list at the moment can do without.
        if let Ok(mut spare) = self.spare.try_lock()
            && spare.len() < MOST_SPARE
        {
            spare.push(std::mem::take(&mut self.memory));
        }
    }
}

/// The sheet that is being filled.
struct Current {
    sheet: Py<Sheet>,
    /// Ids that arrays have.
    used: usize,
    n_arrays: usize,
}

/// One that is full.
struct Full {
    sheet: Py<PyWeakrefReference>,
    n_arrays: usize,
}

/// What is known of the allocator's last arrays.
#[derive(Default)]
struct Last {
    /// Where some of them lay; none before the first.
    places: Vec<usize>,
    n_arrays: usize,
    /// What those took that lay where none of these did.
    n_bytes: usize,
}

#[derive(Default)]
struct State {
    current: Option<Current>,
    full: Vec<Full>,
    last: Last,
}

/// The sheets of a tokenizer.
#[derive(Default)]
pub(crate) struct Sheets {
    state: Mutex<State>,
    spare: Spare,
}

impl Sheets {
    /// An array of ids.
    pub(crate) fn array<'py>(&self, py: Python<'py>, ids: &[u32]) -> Bound<'py, PyArray1<u32>> {
        if !HAS_SHEETS || !(LEAST..=MOST).contains(&ids.len()) {
            return PyArray1::from_slice(py, ids);
        }
        // Nobody else has it, unless this is called while it is being called.
        let Ok(mut state) = self.state.try_lock() else {
            return PyArray1::from_slice(py, ids);
        };
        if let Some(array) = state.put(py, ids, &self.spare) {
            return array;
        }
        let array = PyArray1::from_slice(py, ids);
        state.last.note(array.data().addr(), size_of_val(ids));
        array
    }

    /// Forgets all sheets; arrays keep theirs.
    pub(crate) fn clear(&self) {
        if let Ok(mut state) = self.state.try_lock() {
            *state = State::default();
        }
        if let Ok(mut spare) = self.spare.try_lock() {
            spare.clear();
        }
    }
}

impl Last {
    /// Notes where an array lies.
    fn note(&mut self, place: usize, n_bytes: usize) {
        if self.n_arrays.is_multiple_of(OF_LAST) {
            self.places.clear();
            self.places.resize(N_PLACES, 0);
            self.n_bytes = 0;
        }
        self.n_arrays += 1;
        // The upper bits of a product depend on all bits of the place.
        let hash = (place as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - N_PLACES.ilog2());
        if let Some(before) = self.places.get_mut(hash as usize)
            && std::mem::replace(before, place) != place
        {
            self.n_bytes += n_bytes;
        }
    }

    fn are_kept(&self) -> bool {
        self.n_bytes >= KEPT
    }
}

impl State {
    /// Puts an array into a sheet, if there is to be one.
    fn put<'py>(
        &mut self,
        py: Python<'py>,
        ids: &[u32],
        spare: &Spare,
    ) -> Option<Bound<'py, PyArray1<u32>>> {
        let mut goes_on = false;
        if let Some(current) = &mut self.current {
            if n_references(current.sheet.bind(py)) == 1 {
                (current.used, current.n_arrays) = (0, 0);
            } else if current.used + ids.len() > ROOM {
                let Current {
                    sheet, n_arrays, ..
                } = self.current.take()?;
                let sheet = PyWeakrefReference::new(sheet.bind(py).as_any()).ok()?;
                let sheet = sheet.unbind();
                self.full.push(Full { sheet, n_arrays });
                goes_on = true;
            }
        }
        if self.current.is_none() {
            if !goes_on && !self.last.are_kept() {
                return None;
            }
            self.current = Some(self.begin(py, spare)?);
        }
        let current = self.current.as_mut()?;
        let sheet = current.sheet.bind(py);
        let begin = current.used;
        // Arrays begin where a cache line does.
        current.used = (begin + ids.len()).next_multiple_of(64 / size_of::<u32>());
        current.n_arrays += 1;
        // SAFETY: there are `ROOM` ids, so many of them are behind `begin`, and no array has any of these: those before took
        // what is below, or there are none. The lock keeps others from adding references meanwhile, and the sheet cannot
        // be had from an array whose last reference is gone.
        let part = unsafe {
            let part = sheet.get().memory.start().as_ptr().add(begin);
            std::ptr::copy_nonoverlapping(ids.as_ptr(), part, ids.len());
            std::slice::from_raw_parts(part, ids.len())
        };
        // SAFETY: the memory stays where it is as long as the sheet, which the array keeps as its base, and this part of it is the
        // array's alone.
        Some(unsafe {
            PyArray1::borrow_from_array(&ArrayView1::from(part), sheet.clone().into_any())
        })
    }

    /// A sheet, if enough of those before it is in use.
    fn begin(&mut self, py: Python<'_>, spare: &Spare) -> Option<Current> {
        let is_first = self.full.is_empty();
        // What part of each sheet is in use.
        let (mut n_sheets, mut in_use) = (0, 0.0);
        self.full.retain(|full| {
            let Some(sheet) = full.sheet.bind(py).upgrade() else {
                return false;
            };
            n_sheets += 1;
            in_use += (n_references(&sheet) - 1) as f64 / full.n_arrays as f64;
            true
        });
        // Nothing of the last ones is in use, or too little.
        if !is_first && in_use * 2.0 <= f64::from(n_sheets) {
            self.last = Last::default();
            return None;
        }
        let memory = spare.try_lock().ok().and_then(|mut spare| spare.pop());
        let memory = memory.unwrap_or_else(|| Huge::zeroed(ROOM));
        let spare = Arc::clone(spare);
        let sheet = Py::new(py, Sheet { memory, spare }).ok()?;
        Some(Current {
            sheet,
            used: 0,
            n_arrays: 0,
        })
    }
}
