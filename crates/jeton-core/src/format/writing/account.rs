//! Every change of a canonical form is accounted for: by a loss, or by a rewording that is shown to
//! do the same.

use super::draft::Words;
use super::ledger::Ledger;
use crate::config::Config;

/// Names a loss for each part that changed and that nothing accounts for yet.
pub(super) fn check(before: &Config, after: &Config, words: &Words, ledger: &mut Ledger) {
    for component in changed(before, after) {
        if component == "reference" {
            ledger.reword(
                component,
                "a file belongs to a library, and is read by its rules",
            );
            continue;
        }
        let is_lost = ledger.losses.iter().any(|loss| loss.component == component);
        let mut rewordings = ledger.rewordings.iter();
        let is_reworded = rewordings.any(|rewording| rewording.component == component);
        if is_lost || is_reworded {
            continue;
        }
        if is_translated(component) && !matches!(words, Words::Own) {
            ledger.reword(
                component,
                "the format has another kind of model, which does the same",
            );
            continue;
        }
        let what = match unlike_fields(component, before, after) {
            None => "all of it".to_owned(),
            Some(mut names) => {
                names.retain(|name| {
                    // A SentencePiece model holds a normalizer and a decoder of its own.
                    let part = match name.as_str() {
                        "denormalizer" | "unk_surface" => "decoder",
                        name => name,
                    };
                    ledger.losses.iter().all(|loss| loss.component != part)
                });
                if names.is_empty() {
                    continue;
                }
                format!("its {}", names.join(", "))
            }
        };
        ledger.lose(component, what, "the tokenizer may do something else");
    }
}

/// The fields of a part that do not come back, by their names in the canonical form; `None` for a
/// part without fields.
fn unlike_fields(component: &str, before: &Config, after: &Config) -> Option<Vec<String>> {
    let part = |config: &Config| {
        let tree = serde_json::to_value(config).unwrap_or_default();
        tree[component].clone()
    };
    let (one, two) = (part(before), part(after));
    let (old, new) = (one.as_object()?, two.as_object()?);
    let keys = old
        .keys()
        .chain(new.keys().filter(|key| !old.contains_key(*key)));
    let unlike = keys.filter(|key| old.get(*key) != new.get(*key));
    Some(unlike.cloned().collect())
}

/// True if a model in other words takes a part of the canonical form along.
fn is_translated(component: &str) -> bool {
    matches!(
        component,
        "normalizer" | "pretokenizer" | "added_tokens" | "decoder" | "model"
    )
}

/// The parts in which two canonical forms differ.
pub(super) fn changed(before: &Config, after: &Config) -> Vec<&'static str> {
    // Without `..`, so that a part that is new in the canonical form cannot be forgotten here.
    let Config {
        jeton,
        reference,
        normalizer,
        added_tokens,
        pretokenizer,
        template,
        decoder,
        truncation,
        padding,
        dropout,
        model,
    } = before;
    let parts = [
        ("jeton", *jeton != after.jeton),
        ("reference", *reference != after.reference),
        ("normalizer", *normalizer != after.normalizer),
        ("added_tokens", *added_tokens != after.added_tokens),
        ("pretokenizer", *pretokenizer != after.pretokenizer),
        ("template", *template != after.template),
        ("decoder", *decoder != after.decoder),
        ("truncation", *truncation != after.truncation),
        ("padding", *padding != after.padding),
        ("dropout", *dropout != after.dropout),
        ("model", *model != after.model),
    ];
    let changed = parts.into_iter().filter(|&(_, changed)| changed);
    changed.map(|(component, _)| component).collect()
}
