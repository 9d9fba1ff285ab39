//! True if two splits cut every text alike, as far as that shows in how they are written.

use super::pattern::{Ast, Greed, parse};
use super::{SplitConfig, StepConfig};

impl SplitConfig {
    /// True if two splits cut every text alike: the same pattern, perhaps in two dialects.
    /// Different patterns that happen to cut alike are not found out.
    pub fn cuts_like(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        let around = |split: &Self| (split.behavior, split.invert, split.in_byte_alphabet);
        if around(self) != around(other) {
            return false;
        }
        let read = |split: &Self| parse(&split.pattern, split.dialect, split.unicode);
        let (Ok(one), Ok(two)) = (read(self), read(other)) else {
            return false;
        };
        // Where a pattern runs on an automaton, repeating without giving back makes no difference.
        let linear = |split: &Self| split.compile().is_ok_and(|splitter| splitter.is_linear());
        same(&one, &two, false) || (same(&one, &two, true) && linear(self) && linear(other))
    }
}

impl StepConfig {
    /// True if two steps do the same to every text: see [`SplitConfig::cuts_like`].
    pub fn works_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Split(one), Self::Split(two)) => one.cuts_like(two),
            _ => self == other,
        }
    }
}

/// True if two patterns are the same; `kept`: what is repeated without giving back counts as
/// greedy.
fn same(one: &Ast, two: &Ast, kept: bool) -> bool {
    let all = |one: &[Ast], two: &[Ast]| {
        one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same(one, two, kept))
    };
    let greed = |greed| match greed {
        Greed::Possessive if kept => Greed::Greedy,
        other => other,
    };
    match (one, two) {
        (Ast::Empty, Ast::Empty) | (Ast::End, Ast::End) => true,
        (Ast::Class(one), Ast::Class(two))
        | (Ast::NextIs(one), Ast::NextIs(two))
        | (Ast::NextIsNot(one), Ast::NextIsNot(two))
        | (Ast::LastIs(one), Ast::LastIs(two))
        | (Ast::LastIsNot(one), Ast::LastIsNot(two)) => one == two,
        (Ast::Concat(one), Ast::Concat(two)) | (Ast::Alternate(one), Ast::Alternate(two)) => {
            all(one, two)
        }
        (
            Ast::Repeat {
                node: one,
                min: one_min,
                max: one_max,
                greed: one_greed,
            },
            Ast::Repeat {
                node: two,
                min: two_min,
                max: two_max,
                greed: two_greed,
            },
        ) => {
            (one_min, one_max) == (two_min, two_max)
                && greed(*one_greed) == greed(*two_greed)
                && same(one, two, kept)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Behavior, Dialect, published};
    use super::*;
    use crate::text::unicode::UnicodeVersion;

    fn split(pattern: &str, dialect: Dialect) -> SplitConfig {
        SplitConfig {
            pattern: pattern.to_owned(),
            dialect,
            unicode: UnicodeVersion::REFERENCES,
            behavior: Behavior::Isolated,
            invert: false,
            in_byte_alphabet: false,
        }
    }

    #[test]
    fn dialects_are_seen_through() {
        let like = |fancy: &str, oniguruma: &str| {
            split(fancy, Dialect::FancyRegex).cuts_like(&split(oniguruma, Dialect::Oniguruma))
        };
        assert!(like(published::GPT2, published::GPT2));
        assert!(like(r"a+|\s+$", r"a+|\s+\z"));
        // Two digits and more: a possessive count there, a repeated count here.
        assert!(!like(r"\p{N}{1,3}+", r"\p{N}{1,3}+"));
        assert!(like(r"\p{N}{1,3}+|\P{N}", r"\p{N}{1,3}|\P{N}"));
        assert!(!like("a+", "a*"));
        assert!(!like("a+", "b+"));
    }

    #[test]
    fn what_becomes_of_matches_counts() {
        let one = split("a+", Dialect::Oniguruma);
        let removed = SplitConfig {
            behavior: Behavior::Removed,
            ..one.clone()
        };
        assert!(!one.cuts_like(&removed));
        assert!(one.cuts_like(&one));
    }
}
