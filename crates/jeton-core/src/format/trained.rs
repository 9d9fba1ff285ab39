//! A freshly trained model as a tokenizer.

use crate::assembly::{ModelParts, Parts};
use crate::bpe::{Merges, Missing};
use crate::config::Reference;
use crate::error::{Error, Result};
use crate::normalize::NormalizerConfig;
use crate::pretokenize::StepConfig;
use crate::special::AddedToken;
use crate::tokenizer::Tokenizer;
use crate::train::TrainedBpe;
use crate::vocab::Vocab;

/// Puts what training found together with the pre-tokenization it was found under.
pub fn from_trained(
    trained: &TrainedBpe,
    normalizer: Vec<NormalizerConfig>,
    pretokenizer: Vec<StepConfig>,
) -> Result<Tokenizer> {
    let mut vocab = Vocab::with_capacity(trained.tokens.len());
    let mut added_tokens = Vec::with_capacity(trained.n_special);
    for (id, bytes) in trained.tokens.iter().enumerate() {
        if id < trained.n_special {
            let content = String::from_utf8(bytes.clone())
                .map_err(|_| Error::training("a special token is not valid UTF-8"))?;
            added_tokens.push(AddedToken::special(id as u32, content));
        } else {
            vocab.insert(id as u32, bytes)?;
        }
    }
    Tokenizer::from_parts(Parts {
        normalizer,
        added_tokens,
        pretokenizer,
        ..Parts::new(
            Reference::Jeton,
            ModelParts::Bpe {
                vocab,
                merges: Merges::List(
                    trained
                        .merges
                        .iter()
                        .map(|&(left, right, _)| (left, right))
                        .collect(),
                ),
                whole_pretokens: false,
                missing: Missing::Fail,
            },
        )
    })
}
