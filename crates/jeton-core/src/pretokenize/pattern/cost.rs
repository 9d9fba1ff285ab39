//! A bound on what a pattern may cost to compile, read off its text.

/// Weight of an atom that may be a large class: such a class takes kilobytes in a compiled pattern.
const CLASS: u64 = 50;
/// Most that a pattern may weigh with its counted repetitions written out. A weight of one is a few
/// hundred bytes compiled.
pub(super) const MAX_WEIGHT: u64 = 200_000;

/// The weight of a pattern, counted repetitions written out. A rough reading, made to be quick and
/// never far too low.
pub(super) fn weight(pattern: &str) -> u64 {
    // Weights of the groups that are open, and of the last atom.
    let mut open: Vec<u64> = vec![0];
    let mut last = 0u64;
    let mut characters = pattern.char_indices().peekable();
    let mut in_brackets = 0usize;
    let settle = |open: &mut Vec<u64>, last: &mut u64| {
        if let Some(group) = open.last_mut() {
            *group = group.saturating_add(std::mem::take(last));
        }
    };
    while let Some((at, c)) = characters.next() {
        if in_brackets > 0 {
            match c {
                '\\' => {
                    characters.next();
                    last += CLASS;
                }
                '[' => in_brackets += 1,
                ']' => in_brackets -= 1,
                _ => last += 1,
            }
            continue;
        }
        if c == '{' {
            let body = pattern[at + 1..].split('}').next().unwrap_or_default();
            let largest = body
                .split(',')
                .map(str::parse::<u64>)
                .try_fold(0, |most, n| n.map(|n| most.max(n)));
            if let Ok(largest) = largest.or_else(|_| body.trim_matches(',').parse()) {
                last = last.saturating_mul(largest.max(1));
                let _ = characters.by_ref().find(|&(_, c)| c == '}');
                continue;
            }
        }
        if matches!(c, '*' | '+' | '?') {
            continue;
        }
        match c {
            '(' => {
                settle(&mut open, &mut last);
                open.push(0);
            }
            ')' => {
                settle(&mut open, &mut last);
                if open.len() > 1 {
                    last = open.pop().unwrap_or_default() + 1;
                }
            }
            '[' => {
                settle(&mut open, &mut last);
                in_brackets = 1;
                last = 1;
            }
            '\\' => {
                settle(&mut open, &mut last);
                let escaped = characters.next().map_or(' ', |(_, c)| c);
                last = if escaped.is_ascii_alphabetic() {
                    CLASS
                } else {
                    1
                };
                // The braces of an escape are no repetition.
                if matches!(escaped, 'p' | 'P' | 'x' | 'u' | 'U' | 'o')
                    && characters.peek().is_some_and(|&(_, c)| c == '{')
                {
                    let _ = characters.by_ref().find(|&(_, c)| c == '}');
                }
            }
            _ => {
                settle(&mut open, &mut last);
                last = 1;
            }
        }
    }
    settle(&mut open, &mut last);
    open.iter().fold(0, |sum, group| sum.saturating_add(*group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_multiply() {
        assert_eq!(weight("abc"), 3);
        assert_eq!(weight("a{10}b{2,5}c{3,}"), 10 + 5 + 3);
        assert_eq!(weight(r"a{,7}\w[ab]"), 7 + CLASS + 3);
        assert!(weight("((a{1000}){1000}){1000}") > 1_000_000_000);
        assert!(weight(r"(?:(?=\w{1000})b){1000}") > MAX_WEIGHT);
        for (name, pattern, _) in crate::pretokenize::published::PATTERNS {
            assert!(weight(pattern) < MAX_WEIGHT / 20, "{name}");
        }
    }
}
