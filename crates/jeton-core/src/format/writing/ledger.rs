//! Ledger of a conversion: losses, rewordings, and the reasons why a format is impossible.

use super::draft::FileFormat;
use crate::error::{ErrorKind, Result};

/// A part of a tokenizer that a format does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The part (`normalizer`, `added_tokens` ...).
    pub component: &'static str,
    /// Part of the tokenizer that is lost.
    pub what: String,
    /// Consequence of the loss.
    pub effect: &'static str,
}

/// A part of a tokenizer that comes back from its file in other words, and does the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewording {
    /// The part, by its name in the canonical form.
    pub component: &'static str,
    /// Why it does the same.
    pub why: &'static str,
}

/// Losses, rewordings and obstacles of a format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Losses with which a file can be written.
    pub losses: Vec<Loss>,
    /// Why none can be written.
    pub obstacles: Vec<String>,
    /// Parts that a file words differently and as exactly.
    pub rewordings: Vec<Rewording>,
}

impl Ledger {
    pub(crate) fn lose(
        &mut self,
        component: &'static str,
        what: impl Into<String>,
        effect: &'static str,
    ) {
        let loss = Loss {
            component,
            what: what.into(),
            effect,
        };
        if !self.losses.contains(&loss) {
            self.losses.push(loss);
        }
    }

    pub(crate) fn reword(&mut self, component: &'static str, why: &'static str) {
        let rewording = Rewording { component, why };
        if !self.rewordings.contains(&rewording) {
            self.rewordings.push(rewording);
        }
    }

    pub(crate) fn refuse(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        if !self.obstacles.contains(&reason) {
            self.obstacles.push(reason);
        }
    }

    /// The value, or an obstacle that says why there is none.
    pub(crate) fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.refuse(match error.kind() {
                    ErrorKind::Inexpressible { reason, .. } => reason.clone(),
                    _ => error.to_string(),
                });
                None
            }
        }
    }

    /// Everything that stands in the way of writing a tokenizer as it is, one reason after another.
    pub fn reasons(&self) -> Vec<String> {
        let losses = self
            .losses
            .iter()
            .map(|loss| format!("{}: {}", loss.component, loss.what));
        self.obstacles.iter().cloned().chain(losses).collect()
    }

    /// An error if anything stands in the way.
    pub(crate) fn check(&self, format: FileFormat) -> Result<()> {
        let reasons = self.reasons();
        if reasons.is_empty() {
            return Ok(());
        }
        Err(ErrorKind::Inexpressible {
            format: format.name(),
            reason: reasons.join("; "),
        }
        .into())
    }
}

/// A few of many names, for a message.
pub(crate) fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|n| format!("{n:?}")).collect();
    let more = names.len().saturating_sub(SHOWN);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{rest}", shown.join(", "))
}
