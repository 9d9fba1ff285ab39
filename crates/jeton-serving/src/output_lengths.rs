//! Output lengths foreseen from history: split-conformal intervals by group and prompt length.
//!
//! Nothing of a request is used but its prompt's length and the fields that the caller names, and
//! nothing of the future: a request teaches when it has finished.

use std::collections::{HashMap, VecDeque};

use crate::length_bins::bin_of;
use crate::length_history::{Drift, History, Interval};

/// Fields of a request, the coarsest first.
pub type Fields = Vec<Box<str>>;

/// Groups that are remembered; beyond, the one that has not learned for the longest is forgotten.
pub const MAX_GROUPS: usize = 4096;

/// Requests of a window: a group remembers between one and two of them.
const WINDOW: u64 = 1024;

/// Prompts of any length. Other places are one above the bits of the prompt's length.
const ANY_LENGTH: usize = 0;

const N_LENGTHS: usize = 65;

/// The place of a prompt's length.
pub(crate) fn octave_of(prompt_tokens: i64) -> usize {
    65 - prompt_tokens.leading_zeros() as usize
}

/// One history, and where it stands.
#[derive(Clone, Debug)]
struct Group {
    octave: usize,
    fields: Fields,
    last_lesson: u64,
    history: History,
}

/// An interval, and how many of the request's fields its history has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Foreseen {
    /// The interval.
    pub interval: Interval,
    /// Fields of the history that was used: the first ones of the request.
    pub n_fields: usize,
}

/// Intervals of output lengths, learned from finished requests.
///
/// A request is predicted from the finest group that has enough history: its fields and the octave
/// of its prompt's length, then its fields, then the same without the last field, and so on to all
/// requests. Both calls take constant amortised time, whatever the history.
#[derive(Clone, Debug)]
pub struct OutputLengths {
    coverage: f64,
    min_history: u64,
    window: u64,
    groups: Vec<Group>,
    by_length: Vec<HashMap<Fields, usize>>,
    // Lessons in their order, each with its group; all but a group's last one are stale.
    lessons: VecDeque<(u64, usize)>,
    n_lessons: u64,
}

impl OutputLengths {
    /// Returns the lengths of no request so far.
    ///
    /// `coverage` lies between 0 and 1; a group is believed from `min_history` requests on, or as
    /// many as the coverage needs.
    pub fn new(coverage: f64, min_history: u64) -> Self {
        let needed = (2.0 / (1.0 - coverage) - 1e-9).ceil() as u64;
        let min_history = min_history.max(needed);
        Self {
            coverage,
            min_history,
            window: WINDOW.max(2 * min_history),
            groups: Vec::new(),
            by_length: vec![HashMap::new(); N_LENGTHS + 1],
            lessons: VecDeque::new(),
            n_lessons: 0,
        }
    }

    /// Finished requests before a group is believed.
    pub fn min_history(&self) -> u64 {
        self.min_history
    }

    /// Groups that are remembered.
    pub fn n_groups(&self) -> usize {
        self.groups.len()
    }

    /// Returns tokens between which a request is expected to stop; `None` without history.
    pub fn foresee(&self, prompt_tokens: i64, fields: &[Box<str>]) -> Option<Foreseen> {
        for n_fields in (0..=fields.len()).rev() {
            for octave in [octave_of(prompt_tokens), ANY_LENGTH] {
                let known = self.by_length[octave].get(&fields[..n_fields]);
                let interval = known.and_then(|&group| self.groups[group].history.interval());
                if let Some(interval) = interval {
                    return Some(Foreseen { interval, n_fields });
                }
            }
        }
        None
    }

    /// Takes a finished request into the history.
    pub fn learn(&mut self, prompt_tokens: i64, output_tokens: i64, fields: &[Box<str>]) {
        let bin = bin_of(output_tokens);
        for n_fields in (0..=fields.len()).rev() {
            for octave in [octave_of(prompt_tokens), ANY_LENGTH] {
                let group = self.group(octave, &fields[..n_fields]);
                self.groups[group].history.add(bin);
            }
        }
    }

    /// Returns the groups, whatever their prompts' lengths, that have drifted of late.
    ///
    /// A group has drifted where more of its outputs are longer or shorter than its own window
    /// before would let expect by chance; the largest change comes first.
    pub fn drifts(&self) -> Vec<(Fields, Drift)> {
        let any = self.groups.iter().filter(|one| one.octave == ANY_LENGTH);
        let drifted = any.filter_map(|one| Some((one.fields.clone(), one.history.drift()?)));
        let mut found: Vec<_> = drifted.collect();
        found.sort_by(|(a, one), (b, other)| other.score.total_cmp(&one.score).then(a.cmp(b)));
        found
    }

    /// The number of a group, which is made if it is new, and has its last lesson now.
    fn group(&mut self, octave: usize, fields: &[Box<str>]) -> usize {
        self.n_lessons += 1;
        let group = if let Some(&known) = self.by_length[octave].get(fields) {
            known
        } else {
            self.new_group(octave, fields)
        };
        self.groups[group].last_lesson = self.n_lessons;
        if self.lessons.len() > 2 * self.groups.len() + 64 {
            let groups = &self.groups;
            self.lessons
                .retain(|&(lesson, group)| groups[group].last_lesson == lesson);
        }
        self.lessons.push_back((self.n_lessons, group));
        group
    }

    fn new_group(&mut self, octave: usize, fields: &[Box<str>]) -> usize {
        let new = Group {
            octave,
            fields: fields.to_vec(),
            last_lesson: 0,
            history: History::new(self.coverage, self.min_history, self.window),
        };
        let place = if self.groups.len() < MAX_GROUPS {
            self.groups.push(new);
            self.groups.len() - 1
        } else {
            let oldest = self.oldest();
            let old = std::mem::replace(&mut self.groups[oldest], new);
            self.by_length[old.octave].remove(&old.fields);
            oldest
        };
        self.by_length[octave].insert(fields.to_vec(), place);
        place
    }

    /// The group that has not learned for the longest.
    fn oldest(&mut self) -> usize {
        while let Some((lesson, group)) = self.lessons.pop_front() {
            if self.groups[group].last_lesson == lesson {
                return group;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_GROUPS, OutputLengths, octave_of};

    #[test]
    fn octaves_are_bits() {
        assert_eq!(
            [0, 1, 2, 3, 4, i64::MAX].map(octave_of),
            [1, 2, 3, 3, 4, 64]
        );
    }

    #[test]
    fn the_group_that_learned_last_is_kept() {
        let mut lengths = OutputLengths::new(0.9, 1);
        let fields = |name: usize| vec![name.to_string().into_boxed_str()];
        for name in 0..3 * MAX_GROUPS {
            lengths.learn(1, 1, &fields(name));
            lengths.learn(1, 7, &fields(0));
        }
        assert_eq!(lengths.n_groups(), MAX_GROUPS);
        let known = lengths.foresee(1, &fields(0)).unwrap();
        assert_eq!((known.n_fields, known.interval.upper_tokens), (1, 7));
        assert_eq!(lengths.foresee(1, &fields(5)).unwrap().n_fields, 0);
    }
}
