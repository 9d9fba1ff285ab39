//! From what an automaton may do to rules that masks can follow: which classes are alike, and which spoil.

use super::super::classes::{ClassMap, WIDE};
use super::super::masks::{KINDS_AT_ONCE, Kernel};
use super::kinds::{Kinds, MAX_UNIONS, Union, Unions};
use super::possible::{Outcome, Possible, Set, Table};
use super::{Boundaries, MAX_KINDS, Step};

/// Most classes, the end of the text among them: the bits of a set of classes.
const MAX_CLASSES: usize = 64;
/// Most classes that may spoil what comes after them before there is little left to win.
const MAX_SPOILING: usize = 4;

/// After characters of these kinds (the last but one, the last), before these kinds: a boundary, or not sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    last_but_one: Kinds,
    last: Kinds,
    boundary: Kinds,
    unsure: Kinds,
}

/// How often a character comes in ordinary text, very roughly, in thousandths: which classes deserve a kind.
fn frequency(byte: u8) -> u32 {
    match byte {
        b'a'..=b'z' => 30,
        b' ' => 150,
        b'A'..=b'Z' | b'0'..=b'9' | b'\n' => 3,
        b'.' | b',' => 10,
        0x21..0x7F => 2,
        _ => 0,
    }
}

impl Boundaries {
    /// Works out what characters tell; None if they tell too little.
    pub(in super::super) fn new(
        classes: &ClassMap,
        transitions: &[u16],
        stride: usize,
    ) -> Option<Self> {
        if stride > MAX_CLASSES {
            return None;
        }
        let possible = Possible::new(transitions, stride);
        let n = stride - 1;
        // Every character must begin a match: there are no gaps.
        let occurring = classes.occurring();
        let real: Vec<usize> = (0..n).filter(|&class| occurring[class]).collect();
        if real
            .iter()
            .any(|&class| !possible.ends_later[possible.to(1, class) as usize])
        {
            return None;
        }
        let table = Table::new(&possible, &real)?;
        let mut weights = vec![0u64; n];
        for byte in 0..128u8 {
            weights[classes.single[byte as usize] as usize] += u64::from(frequency(byte));
        }
        // How much text is unsure, by the weights of the characters around a place.
        let cost = |spoiling: Set| -> u64 {
            let two = table.of_two(spoiling);
            let mut cost = 0;
            for second in 0..n {
                for third in 0..n {
                    let around = weights[second] * weights[third];
                    let outcome = two[second][third];
                    let unsure = outcome.may_end & outcome.may_go_on;
                    let spoils = (spoiling >> second | spoiling >> third) & 1 != 0;
                    for (next, weight) in weights.iter().enumerate() {
                        if spoils || unsure >> next & 1 != 0 {
                            cost += around * weight;
                        }
                    }
                }
            }
            cost
        };
        let mut spoiling: Set = 0;
        let mut least = cost(0);
        for _ in 0..MAX_SPOILING {
            let candidates = real
                .iter()
                .copied()
                .filter(|&class| spoiling >> class & 1 == 0);
            let costs = candidates.map(|class| (cost(spoiling | 1 << class), class));
            match costs.min() {
                Some((cost, class)) if cost < least => {
                    (least, spoiling) = (cost, spoiling | 1 << class);
                }
                _ => break,
            }
        }
        // Classes of one kind: alike as last but one, as last and as next character.
        loop {
            let two = table.of_two(spoiling);
            let alike = |one: usize, other: usize| -> bool {
                let bits = |set: Set| (set >> one & 1, set >> other & 1);
                let same = |set: Set| bits(set).0 == bits(set).1;
                same(spoiling)
                    && two[one] == two[other]
                    && two.iter().all(|row| row[one] == row[other])
                    && two
                        .iter()
                        .flatten()
                        .all(|outcome| same(outcome.may_end) && same(outcome.may_go_on))
            };
            let mut members: Vec<Vec<usize>> = Vec::new();
            for &class in &real {
                match members.iter_mut().find(|kind| alike(kind[0], class)) {
                    Some(kind) => kind.push(class),
                    None => members.push(vec![class]),
                }
            }
            let weight = |kind: &Vec<usize>| kind.iter().map(|&class| weights[class]).sum::<u64>();
            if members.len() < MAX_KINDS {
                let total: u64 = weights.iter().sum();
                if cost(spoiling) * 2 > total * total * total {
                    return None;
                }
                return Self::of_kinds(classes, &members, &two, spoiling);
            }
            // The rarest kind spoils too: all that do are alike in time.
            let rarest = members
                .iter()
                .filter(|kind| spoiling >> kind[0] & 1 == 0)
                .min_by_key(|kind| weight(kind))?;
            rarest.iter().for_each(|class| spoiling |= 1 << class);
        }
    }

    fn of_kinds(
        classes: &ClassMap,
        members: &[Vec<usize>],
        two: &[Vec<Outcome>],
        spoiling: Set,
    ) -> Option<Self> {
        let n_kinds = members.len();
        let spoils = |kind: usize| spoiling >> members[kind][0] & 1 != 0;
        let kinds_of = |set: Set| -> Kinds {
            let these = (0..n_kinds).filter(|&kind| set >> members[kind][0] & 1 != 0);
            these.map(|kind| 1 << kind).sum()
        };
        let mut rules: Vec<Rule> = Vec::new();
        let mut needing_two = 0;
        for last in (0..n_kinds).filter(|&kind| !spoils(kind)) {
            let mut of_last: Vec<Rule> = Vec::new();
            for last_but_one in (0..n_kinds).filter(|&kind| !spoils(kind)) {
                let outcome = two[members[last_but_one][0]][members[last][0]];
                let boundary = kinds_of(outcome.may_end & !outcome.may_go_on);
                let unsure = kinds_of(outcome.may_end & outcome.may_go_on);
                match of_last
                    .iter_mut()
                    .find(|rule| (rule.boundary, rule.unsure) == (boundary, unsure))
                {
                    Some(rule) => rule.last_but_one |= 1 << last_but_one,
                    None => of_last.push(Rule {
                        last_but_one: 1 << last_but_one,
                        last: 1 << last,
                        boundary,
                        unsure,
                    }),
                }
            }
            if let [only] = of_last.as_mut_slice() {
                only.last_but_one = Kinds::MAX;
            } else {
                needing_two |= 1 << last;
            }
            for rule in of_last {
                let like = |known: &&mut Rule| {
                    Rule {
                        last: rule.last,
                        ..**known
                    } == rule
                };
                match rules.iter_mut().find(like) {
                    Some(known) => known.last |= rule.last,
                    None => rules.push(rule),
                }
            }
        }
        rules.retain(|rule| rule.boundary | rule.unsure != 0);
        let mut class_kinds = vec![0; two.len()];
        for (kind, members) in members.iter().enumerate() {
            members
                .iter()
                .for_each(|&class| class_kinds[class] = kind as u8);
        }
        let mut kinds = [[0; 256]; 2];
        for (byte, &class) in classes
            .single
            .iter()
            .enumerate()
            .filter(|(_, class)| **class != WIDE)
        {
            let kind = class_kinds[class as usize] as usize;
            kinds[kind / KINDS_AT_ONCE][byte] = 1 << (kind % KINDS_AT_ONCE);
        }
        let (mut next, mut last, mut last_but_one) =
            (Unions::default(), Unions::default(), Unions::default());
        let steps = rules
            .iter()
            .map(|rule| Step {
                last_but_one: last_but_one.add(rule.last_but_one, n_kinds),
                last: last.add(rule.last, n_kinds),
                boundary: next.add(rule.boundary, n_kinds),
                unsure: next.add(rule.unsure, n_kinds),
            })
            .collect();
        if [&next, &last, &last_but_one]
            .iter()
            .any(|unions| unions.sets.len() > MAX_UNIONS)
        {
            return None;
        }
        let spoiling = (0..n_kinds)
            .filter(|&kind| spoils(kind))
            .map(|kind| 1 << kind)
            .sum();
        Some(Self {
            kinds,
            class_kinds,
            n_kinds,
            steps,
            next,
            last,
            last_but_one,
            spoiling: Union::new(spoiling, n_kinds),
            needing_two: Union::new(needing_two, n_kinds),
            kernel: Kernel::fastest(),
        })
    }
}
