//! From what an automaton may do to rules that masks can follow: which classes are alike, and which
//! taint.

use super::super::classes::ClassMap;
use super::Boundaries;
use super::build::build;
use super::digit_runs::Counted;
use super::possible::{Outcome, Possible, Set, Table};
use super::tables::MAX_KINDS;

/// Most classes, the end of the text among them: the bits of a set of classes.
const MAX_CLASSES: usize = 64;
/// Most classes that may taint what comes after them because that leaves less unsure.
const MAX_TAINTING: usize = 4;
/// Most times that one more kind taints because there are too many; then characters tell too
/// little.
const MAX_ROUNDS: usize = 8;

/// How often a character comes in ordinary text, very roughly, in thousandths: which classes
/// deserve a kind, and which rules are told apart where there are too many. Signs and line ends
/// count for more than they come: what is around them is what is unsure. Among the numbers tried,
/// these leave least unsure in code, prose and logs under o200k's pattern, and nothing in Hindi
/// (docs/log/engine-2026-11.md).
fn frequency(byte: u8) -> u32 {
    match byte {
        b'a'..=b'z' => 20,
        b' ' => 220,
        b'\n' => 50,
        b'A'..=b'Z' | b'0'..=b'9' => 2,
        0x21..0x7F => 10,
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
        let total: u64 = weights.iter().sum();
        // Most classes are of characters that ordinary text has none of.
        let weighty: Vec<usize> = (0..n).filter(|&class| weights[class] > 0).collect();
        let anything = table.of_two(0);
        // How much text is unsure, by the weights of the characters around a place, in fourth
        // powers of the total.
        let cost = |tainting: Set| -> u64 {
            let clean = table.of_two(tainting);
            let taints = |class: usize| tainting >> class & 1 != 0;
            let weight_tainting: u64 = (0..n)
                .filter(|&class| taints(class))
                .map(|class| weights[class])
                .sum();
            let unsure = |outcome: Outcome, next: usize| -> u64 {
                (outcome.may_end & outcome.may_go_on) >> next & 1
            };
            let mut cost = 0;
            for &second in &weighty {
                for &third in &weighty {
                    let (clean, any) = (clean[second][third], anything[second][third]);
                    // How often something taints.
                    let often = if taints(second) || taints(third) {
                        total
                    } else {
                        weight_tainting
                    };
                    let around = weights[second] * weights[third];
                    for &next in &weighty {
                        let here =
                            unsure(clean, next) * (total - often) + unsure(any, next) * often;
                        cost += around * weights[next] * here;
                    }
                }
            }
            cost
        };
        let mut tainting: Set = 0;
        let mut least = cost(0);
        for _ in 0..MAX_TAINTING {
            let candidates = real
                .iter()
                .copied()
                .filter(|&class| tainting >> class & 1 == 0);
            let costs = candidates.map(|class| (cost(tainting | 1 << class), class));
            match costs.min() {
                Some((cost, class)) if cost < least => {
                    (least, tainting) = (cost, tainting | 1 << class);
                }
                _ => break,
            }
        }
        for _ in 0..MAX_ROUNDS {
            let members = kinds(&table, &real, tainting);
            if members.len() <= MAX_KINDS {
                if cost(tainting) * 2 > total.pow(4) {
                    return None;
                }
                if let Some(tables) = build(classes, &possible, &members, &weights, tainting) {
                    let mut class_kinds = vec![0; n];
                    for (kind, members) in members.iter().enumerate() {
                        members
                            .iter()
                            .for_each(|&class| class_kinds[class] = kind as u8);
                    }
                    let counted = Counted::new(classes, &possible, &weights);
                    return Some(Self::of(tables, counted, classes.characters(&class_kinds)));
                }
            }
            // One more kind taints: that which leaves few enough kinds at the least cost, or else
            // the fewest.
            let enough = MAX_KINDS.min(members.len() - 1);
            let candidates = members
                .iter()
                .filter(|kind| tainting >> kind[0] & 1 == 0)
                .map(|kind| tainting | kind.iter().map(|class| 1 << class).sum::<Set>());
            tainting = candidates.min_by_key(|&tainting| {
                let n_kinds = kinds(&table, &real, tainting).len();
                (n_kinds.max(enough), cost(tainting))
            })?;
        }
        None
    }
}

/// Classes of one kind: alike as last but one, as last and as next character.
fn kinds(table: &Table, real: &[usize], tainting: Set) -> Vec<Vec<usize>> {
    let two = table.of_two(tainting);
    let alike = |one: usize, other: usize| -> bool {
        let bits = |set: Set| (set >> one & 1, set >> other & 1);
        let same = |set: Set| bits(set).0 == bits(set).1;
        same(tainting)
            && two[one] == two[other]
            && two.iter().all(|row| row[one] == row[other])
            && two
                .iter()
                .flatten()
                .all(|outcome| same(outcome.may_end) && same(outcome.may_go_on))
    };
    let mut members: Vec<Vec<usize>> = Vec::new();
    for &class in real {
        match members.iter_mut().find(|kind| alike(kind[0], class)) {
            Some(kind) => kind.push(class),
            None => members.push(vec![class]),
        }
    }
    members
}
