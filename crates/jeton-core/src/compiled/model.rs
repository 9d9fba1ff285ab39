//! The bulk of a model: tokens, merges and pieces, apart from the canonical form, in which they
//! would be text.

use super::inexpressible;
use super::wire::{Reader, Writer, bad};
use crate::assembly::ModelParts;
use crate::config::ModelConfig;
use crate::engine::Engine;
use crate::error::Result;
use crate::models::bpe::compiled_merges::CompiledMerges;
use crate::models::bpe::listed::{Listed, ListedPair};
use crate::vocab::{Lengths, RawIndex, RawPacked, Vocab};

/// Takes the bulk out of a canonical form and writes it by itself.
pub(super) fn take_bulk(engine: &Engine, model: &mut ModelConfig, out: &mut Writer) -> Result<()> {
    match model {
        ModelConfig::Bpe {
            tokens,
            opaque,
            merges,
            ..
        } => {
            (*tokens, *opaque) = (Vec::new(), Vec::new());
            write_vocab(engine.vocab(), out);
            if let Some(list) = merges {
                list.clear();
            }
            if let Engine::Bpe(pipeline) = engine {
                if let Some(list) = pipeline.model().list() {
                    write_list(list, out);
                }
                write_merges(pipeline.model().compiled().as_ref(), out);
            }
        }
        ModelConfig::CharacterBpe {
            tokens,
            opaque,
            merges,
            ..
        } => {
            (*tokens, *opaque) = (Vec::new(), Vec::new());
            write_vocab(engine.vocab(), out);
            let (left, right): (Vec<u32>, Vec<u32>) = std::mem::take(merges).into_iter().unzip();
            out.u32s(left.into_iter());
            out.u32s(right.into_iter());
        }
        ModelConfig::WordPiece { tokens, opaque, .. }
        | ModelConfig::Word { tokens, opaque, .. }
        | ModelConfig::Character { tokens, opaque, .. }
        | ModelConfig::RawBytes { tokens, opaque, .. }
        | ModelConfig::Greedy { tokens, opaque } => {
            (*tokens, *opaque) = (Vec::new(), Vec::new());
            write_vocab(engine.vocab(), out);
        }
        ModelConfig::Unigram { pieces, .. } => {
            let pieces = std::mem::take(pieces);
            let lengths: Vec<u32> = pieces.iter().map(|(text, _)| text.len() as u32).collect();
            let texts: Vec<u8> = pieces.iter().flat_map(|(text, _)| text.bytes()).collect();
            out.bytes(&texts);
            out.u32s(lengths.into_iter());
            let scores: Vec<u64> = pieces
                .iter()
                .map(|(_, score)| f64::from(*score).to_bits())
                .collect();
            out.u64s(scores.into_iter());
        }
        ModelConfig::SentencePiece(_) => return Err(inexpressible()),
    }
    Ok(())
}

/// Puts a canonical form and its bulk together.
pub(super) fn read_model(model: ModelConfig, reader: &mut Reader) -> Result<ModelParts> {
    let is_listed = matches!(
        &model,
        ModelConfig::Bpe {
            merges: Some(_),
            ..
        }
    );
    let mut parts = ModelParts::from_config(model)?;
    match &mut parts {
        ModelParts::Bpe {
            whole_pretokens,
            missing,
            ..
        } => {
            let vocab = read_vocab(reader)?;
            let list = is_listed.then(|| read_list(&vocab, reader)).transpose()?;
            let known = read_merges(reader)?.map(Box::new);
            return Ok(ModelParts::CompiledBpe {
                vocab,
                list,
                known,
                whole_pretokens: *whole_pretokens,
                missing: *missing,
            });
        }
        ModelParts::CharacterBpe { vocab, merges, .. } => {
            *vocab = read_vocab(reader)?;
            let (left, right) = (reader.u32s()?, reader.u32s()?);
            if left.len() != right.len() {
                return Err(bad("half a merge"));
            }
            *merges = left.into_iter().zip(right).collect();
        }
        ModelParts::WordPiece { vocab, .. }
        | ModelParts::Word { vocab, .. }
        | ModelParts::Character { vocab, .. }
        | ModelParts::RawBytes { vocab, .. }
        | ModelParts::Greedy { vocab } => *vocab = read_vocab(reader)?,
        ModelParts::Unigram { pieces, .. } => *pieces = read_pieces(reader)?,
        ModelParts::CompiledBpe { .. } | ModelParts::SentencePiece(_) => {
            return Err(bad("a model that is not compiled"));
        }
    }
    Ok(parts)
}

/// A packed table follows.
const PACKED: u64 = 1;

/// The slots of an open table follow.
const OPEN: u64 = 0;

fn write_vocab(vocab: &Vocab, out: &mut Writer) {
    let raw = vocab.raw();
    out.lasting(&raw.arena);
    out.bytes(&raw.lengths);
    out.u32s(raw.long.into_iter());
    out.u32s(raw.opaque.into_iter());
    match raw.index {
        RawIndex::Packed(packed) => {
            out.number(PACKED);
            out.number(packed.n_tokens as u64);
            out.lasting(&packed.slots);
            out.lasting(&packed.filter);
            out.bytes(packed.lengths.bytes());
            out.number(u64::from(packed.seed));
        }
        RawIndex::Open { slots, seed } => {
            out.number(OPEN);
            out.lasting(&slots);
            out.number(u64::from(seed));
        }
    }
}

fn read_vocab(reader: &mut Reader) -> Result<Vocab> {
    let (arena, lengths) = (reader.lasting()?, reader.bytes()?.to_vec());
    let (long, opaque) = (reader.u32s()?, reader.u32s()?);
    let index = match reader.number()? {
        PACKED => RawIndex::Packed(RawPacked {
            n_tokens: usize::try_from(reader.number()?)
                .map_err(|_| bad("more tokens than there can be"))?,
            slots: reader.lasting()?,
            filter: reader.lasting()?,
            lengths: Lengths::from_bytes(reader.bytes()?)
                .ok_or_else(|| bad("lengths of tokens that are none"))?,
            seed: read_seed(reader)?,
        }),
        OPEN => RawIndex::Open {
            slots: reader.lasting()?,
            seed: read_seed(reader)?,
        },
        _ => return Err(bad("a table of another kind")),
    };
    Vocab::from_raw(arena, &lengths, &long, &opaque, index, reader.shelf())
        .ok_or_else(|| bad("its vocabulary is none"))
}

fn read_seed(reader: &mut Reader) -> Result<u32> {
    u32::try_from(reader.number()?).map_err(|_| bad("a seed that no table has"))
}

fn write_list(list: &Listed, out: &mut Writer) {
    let (starts, pairs) = list.raw();
    out.u32s(starts.iter().copied());
    out.u32s(pairs.iter().map(|pair| pair.right));
    out.u32s(pairs.iter().map(|pair| pair.rank));
    out.u32s(pairs.iter().map(|pair| pair.merged));
}

fn read_list(vocab: &Vocab, reader: &mut Reader) -> Result<Listed> {
    let (starts, right) = (reader.u32s()?, reader.u32s()?);
    let (rank, merged) = (reader.u32s()?, reader.u32s()?);
    if right.len() != rank.len() || right.len() != merged.len() {
        return Err(bad("half a merge"));
    }
    let pairs = right.into_iter().zip(rank).zip(merged);
    let pairs = pairs.map(|((right, rank), merged)| ListedPair {
        right,
        rank,
        merged,
    });
    Listed::from_raw(starts, pairs.collect(), vocab).ok_or_else(|| bad("its merges are none"))
}

fn write_merges(merges: Option<&CompiledMerges>, out: &mut Writer) {
    out.number(u64::from(merges.is_some()));
    if let Some(merges) = merges {
        let (lasting, others) = merges.columns();
        for column in lasting {
            out.lasting(column);
        }
        for column in others {
            out.u64s(column.iter().copied());
        }
    }
}

fn read_merges(reader: &mut Reader) -> Result<Option<CompiledMerges>> {
    if reader.number()? == 0 {
        return Ok(None);
    }
    let tables = [reader.lasting()?, reader.lasting()?];
    let scripts = [reader.lasting()?, reader.lasting()?];
    let others = [reader.u64s()?, reader.u64s()?, reader.u64s()?];
    let ([entries, filter], [script_entries, script_filter]) = (tables, scripts);
    let lasting = [entries, filter, script_entries, script_filter];
    Ok(Some(CompiledMerges::new(lasting, others, reader.shelf())))
}

fn read_pieces(reader: &mut Reader) -> Result<Vec<(String, f64)>> {
    let texts = reader.bytes()?.to_vec();
    let texts = String::from_utf8(texts).map_err(|_| bad("a piece is not UTF-8"))?;
    let (lengths, scores) = (reader.u32s()?, reader.u64s()?);
    if lengths.len() != scores.len() {
        return Err(bad("a piece without a score"));
    }
    let mut start = 0;
    let pieces = lengths.iter().zip(scores).map(|(&length, bits)| {
        let text = texts.get(start..start + length as usize);
        start += length as usize;
        let text = text.ok_or_else(|| bad("a piece that lies elsewhere"))?;
        Ok((text.to_owned(), f64::from_bits(bits)))
    });
    pieces.collect()
}
