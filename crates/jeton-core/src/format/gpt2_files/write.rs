//! Writing GPT-2's two files.

use std::collections::{BTreeMap, HashSet};

use crate::codec::gpt2_alphabet;
use crate::config::{Config, ModelConfig};
use crate::format::writing::draft::{Draft, MERGES, ReadOptions, Words, WrittenFile};
use crate::format::writing::ledger::Ledger;
use crate::format::writing::pairs;
use crate::pretokenize::StepConfig;

/// The line with which published files begin.
const VERSION: &str = "#version: 0.2\n";

/// Writes the two files, and what stands in their way.
pub(in crate::format) fn write(config: &Config, ledger: &mut Ledger) -> Option<Draft> {
    let ModelConfig::Bpe {
        tokens,
        opaque,
        merges,
        ..
    } = &config.model
    else {
        ledger.refuse("only byte-level BPE has the two files");
        return None;
    };
    let vocab = ledger.take(pairs::vocab(tokens, opaque))?;
    let opaque: HashSet<u32> = opaque.iter().copied().collect();
    let mut entries: BTreeMap<String, u32> = BTreeMap::new();
    for (id, bytes) in vocab.iter() {
        let name = if opaque.contains(&id) {
            String::from_utf8_lossy(bytes).into_owned()
        } else {
            gpt2_alphabet::write(bytes)
        };
        if let Some(other) = entries.insert(name.clone(), id) {
            ledger.refuse(format!(
                "the ids {other} and {id} are both written {name:?}"
            ));
        }
    }
    for token in &config.added_tokens {
        let name = token.content.clone();
        if let Some(other) = entries.insert(name, token.id)
            && other != token.id
        {
            let content = &token.content;
            ledger.refuse(format!(
                "the added token {content:?} is written like the id {other}"
            ));
        }
    }
    let list = match merges {
        Some(list) => list.clone(),
        None => pairs::all_pairs(&vocab),
    };
    let mut text = VERSION.to_owned();
    for (left, right) in list {
        for (id, end) in [(left, ' '), (right, '\n')] {
            match vocab.id_to_bytes(id) {
                Some(bytes) if vocab.is_findable(id) => {
                    text.push_str(&gpt2_alphabet::write(bytes));
                }
                _ => ledger.refuse(format!("a merge needs the id {id}, which is no text")),
            }
            text.push(end);
        }
    }
    let vocab_json = ledger.take(
        serde_json::to_vec(&in_order(&entries))
            .map_err(|error| crate::error::Error::format(super::VOCAB, error.to_string())),
    )?;
    let prefix = config.pretokenizer.first() == Some(&StepConfig::PrefixSpace);
    Some(Draft {
        files: vec![
            WrittenFile {
                role: "",
                bytes: vocab_json,
            },
            WrittenFile {
                role: MERGES,
                bytes: text.into_bytes(),
            },
        ],
        options: ReadOptions {
            add_prefix_space: Some(prefix),
            ..ReadOptions::default()
        },
        words: Words::Own,
    })
}

/// The entries by id, as people look for them.
fn in_order(entries: &BTreeMap<String, u32>) -> serde_json::Map<String, serde_json::Value> {
    let mut sorted: Vec<(&String, u32)> = entries.iter().map(|(name, &id)| (name, id)).collect();
    sorted.sort_by_key(|&(_, id)| id);
    sorted
        .into_iter()
        .map(|(name, id)| (name.clone(), id.into()))
        .collect()
}
