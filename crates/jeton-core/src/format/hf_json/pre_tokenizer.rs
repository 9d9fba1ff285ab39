//! `pre_tokenizer`.
//!
//! Steps that are patterns in disguise are read as patterns, with the Unicode version that the
//! reference's own tables have.

use serde_json::{Value, json};

use super::normalizer::read_pattern;
use super::{FORMAT, bad, flag, inexpressible, kind, members, number, one_char, untyped};
use crate::error::{Error, Result};
use crate::normalize::replace::ReplacePattern;
use crate::pretokenize::components::{self, NUMERIC, PUNCTUATION, WHITE_SPACE, WORDS};
use crate::pretokenize::metaspace::{MetaspaceConfig, PrependScheme};
use crate::pretokenize::{Behavior, Dialect, SplitConfig, StepConfig, published};
use crate::text::unicode::UnicodeVersion;

const PLACE: &str = "pre_tokenizer";

/// True if a byte-level step is among the steps, and what comes after it are splits.
pub(super) fn ends_in_byte_level(component: Option<&Value>) -> bool {
    let Some(component) = component else {
        return false;
    };
    let mut steps = Vec::new();
    flatten(component, &mut steps);
    let name = |step: &Value| step["type"].as_str().unwrap_or_default().to_owned();
    let byte_levels = steps
        .iter()
        .filter(|step| name(step) == "ByteLevel")
        .count();
    let rest = steps
        .iter()
        .skip_while(|step| name(step) != "ByteLevel")
        .skip(1);
    byte_levels == 1
        && rest
            .into_iter()
            .all(|step| matches!(name(step).as_str(), "Split" | "Digits" | "Punctuation"))
}

fn flatten<'v>(component: &'v Value, steps: &mut Vec<&'v Value>) {
    match component["pretokenizers"].as_array() {
        Some(members) => members.iter().for_each(|member| flatten(member, steps)),
        None => steps.push(component),
    }
}

/// Reads the steps. `on_bytes`: the model works on bytes, so that what follows a byte-level step
/// sees bytes as characters of GPT-2's alphabet.
pub(super) fn read(component: Option<&Value>, on_bytes: bool) -> Result<Vec<StepConfig>> {
    let mut reader = Reader {
        on_bytes,
        in_byte_alphabet: false,
        steps: Vec::new(),
    };
    if let Some(component) = component.filter(|component| !component.is_null()) {
        reader.read(component)?;
    }
    Ok(reader.steps)
}

struct Reader {
    on_bytes: bool,
    in_byte_alphabet: bool,
    steps: Vec<StepConfig>,
}

impl Reader {
    fn push(
        &mut self,
        pattern: &str,
        unicode: UnicodeVersion,
        behavior: Behavior,
        invert: bool,
        dialect: Dialect,
    ) {
        self.steps.push(StepConfig::Split(SplitConfig {
            pattern: pattern.to_owned(),
            dialect,
            unicode,
            behavior,
            invert,
            in_byte_alphabet: self.in_byte_alphabet,
        }));
    }

    fn read(&mut self, component: &Value) -> Result<()> {
        use Behavior::{Contiguous, Isolated, Removed};
        use Dialect::{FancyRegex, Oniguruma};
        let references = UnicodeVersion::REFERENCES;
        match kind(component, PLACE)?.ok_or_else(|| untyped(PLACE))? {
            "Sequence" => members(component, "pretokenizers")?
                .iter()
                .try_for_each(|step| self.read(step))?,
            "BertPreTokenizer" => {
                let [spaces, punctuation] = components::bert_words();
                self.steps.extend([spaces, punctuation]);
            }
            "ByteLevel" => {
                if flag(component, "add_prefix_space", true)? {
                    self.steps.push(StepConfig::PrefixSpace);
                }
                if flag(component, "use_regex", true)? {
                    self.push(published::GPT2, references, Isolated, false, Oniguruma);
                }
                if self.on_bytes {
                    self.in_byte_alphabet = true;
                } else {
                    self.steps.push(StepConfig::ByteLevel);
                }
            }
            "CharDelimiterSplit" => {
                let delimiter =
                    regex_syntax::escape(&one_char(component, "delimiter")?.to_string());
                self.push(&delimiter, references, Removed, false, Oniguruma);
            }
            "Digits" => {
                let behavior = if flag(component, "individual_digits", false)? {
                    Isolated
                } else {
                    Contiguous
                };
                self.push(
                    NUMERIC,
                    components::NUMERIC_UNICODE,
                    behavior,
                    false,
                    Oniguruma,
                );
            }
            "FixedLength" => {
                let chars = match &component["length"] {
                    Value::Null => DEFAULT_LENGTH,
                    _ => usize::try_from(number(component, "length")?).unwrap_or(usize::MAX),
                };
                self.steps.push(StepConfig::FixedLength { chars });
            }
            "Metaspace" => self
                .steps
                .push(StepConfig::Metaspace(read_metaspace(component)?)),
            "Punctuation" => {
                let behavior = match component["behavior"].as_str() {
                    None => Isolated,
                    Some(name) => read_behavior(name)?,
                };
                self.push(
                    PUNCTUATION,
                    components::PUNCTUATION_UNICODE,
                    behavior,
                    false,
                    Oniguruma,
                );
            }
            "Split" => {
                let behavior = read_behavior(component["behavior"].as_str().unwrap_or_default())?;
                let pattern = match read_pattern(&component["pattern"])? {
                    ReplacePattern::Regex(regex) => regex,
                    ReplacePattern::String(literal) => regex_syntax::escape(&literal),
                };
                let invert = flag(component, "invert", false)?;
                self.push(&pattern, references, behavior, invert, Oniguruma);
            }
            "UnicodeScripts" => self.steps.push(StepConfig::Scripts),
            "Whitespace" => self.push(WORDS, references, Removed, true, FancyRegex),
            "WhitespaceSplit" => self.push(WHITE_SPACE, references, Removed, false, FancyRegex),
            name => return Err(Error::unsupported(FORMAT, PLACE, name)),
        }
        Ok(())
    }
}

/// The length of `FixedLength` where the file has none.
const DEFAULT_LENGTH: usize = 5;

/// Metaspace, of the pre-tokenizer or of the decoder.
pub(super) fn read_metaspace(component: &Value) -> Result<MetaspaceConfig> {
    MetaspaceConfig::from_fields(
        component["replacement"]
            .as_str()
            .ok_or_else(|| bad("Metaspace has no replacement"))?,
        component["prepend_scheme"].as_str(),
        component["add_prefix_space"].as_bool(),
        component["split"].as_bool(),
    )
}

pub(super) fn scheme_name(scheme: PrependScheme) -> &'static str {
    match scheme {
        PrependScheme::First => "first",
        PrependScheme::Never => "never",
        PrependScheme::Always => "always",
    }
}

fn read_behavior(name: &str) -> Result<Behavior> {
    Ok(match name {
        "Removed" => Behavior::Removed,
        "Isolated" => Behavior::Isolated,
        "MergedWithPrevious" => Behavior::MergedWithPrevious,
        "MergedWithNext" => Behavior::MergedWithNext,
        "Contiguous" => Behavior::Contiguous,
        name => return Err(Error::unsupported(FORMAT, "split behavior", name)),
    })
}

/// Writes the steps. `on_bytes`: the model works on bytes, whose step the canonical form leaves
/// out.
pub(super) fn write(steps: &[StepConfig], on_bytes: bool) -> Result<Value> {
    let mut written = Vec::with_capacity(steps.len() + 1);
    let byte_level = |prefix: bool, use_regex: bool| json!({"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": true, "use_regex": use_regex});
    // Where the step in bytes goes, if it has not been written yet.
    let mut pending = on_bytes;
    let mut steps = steps.iter().peekable();
    while let Some(step) = steps.next() {
        match step {
            StepConfig::Split(split) => {
                if split.in_byte_alphabet && pending {
                    written.push(byte_level(false, false));
                    pending = false;
                }
                written.push(write_split(split)?);
            }
            StepConfig::Scripts => written.push(json!({"type": "UnicodeScripts"})),
            StepConfig::FixedLength { chars } => {
                written.push(json!({"type": "FixedLength", "length": chars}));
            }
            StepConfig::Metaspace(metaspace) => written.push(json!({
                "type": "Metaspace",
                "replacement": metaspace.replacement,
                "prepend_scheme": scheme_name(metaspace.prepend_scheme),
                "split": metaspace.split,
            })),
            // The reference has the space only as a part of the byte-level step, before its
            // pattern.
            StepConfig::PrefixSpace => {
                let regex = steps.next_if(|step| is_gpt2(step)).is_some();
                let bytes = steps
                    .next_if(|step| **step == StepConfig::ByteLevel)
                    .is_some();
                let splits_follow = matches!(steps.peek(), Some(StepConfig::Split(split)) if !split.in_byte_alphabet);
                if !(bytes || (pending && !splits_follow)) {
                    return Err(inexpressible(
                        "it puts a space in front of text that another pattern then splits",
                    ));
                }
                pending &= bytes;
                written.push(byte_level(true, regex));
            }
            StepConfig::ByteLevel => written.push(byte_level(false, false)),
        }
    }
    if pending {
        written.push(byte_level(false, false));
    }
    Ok(super::one_or_sequence(written, "pretokenizers"))
}

fn is_gpt2(step: &StepConfig) -> bool {
    matches!(step, StepConfig::Split(split) if split.pattern == published::GPT2
        && split.behavior == Behavior::Isolated
        && !split.in_byte_alphabet)
}

fn write_split(split: &SplitConfig) -> Result<Value> {
    let behavior = match split.behavior {
        Behavior::Isolated => "Isolated",
        Behavior::Removed => "Removed",
        Behavior::MergedWithPrevious => "MergedWithPrevious",
        Behavior::MergedWithNext => "MergedWithNext",
        Behavior::Contiguous => "Contiguous",
    };
    // The components that were read as patterns with the Unicode version of their own.
    match split.pattern.as_str() {
        NUMERIC => {
            let individual = split.behavior == Behavior::Isolated;
            return Ok(json!({"type": "Digits", "individual_digits": individual}));
        }
        PUNCTUATION => return Ok(json!({"type": "Punctuation", "behavior": behavior})),
        WHITE_SPACE if split.dialect == Dialect::FancyRegex && !split.invert => {
            return Ok(json!({"type": "WhitespaceSplit"}));
        }
        WORDS if split.dialect == Dialect::FancyRegex && split.invert => {
            return Ok(json!({"type": "Whitespace"}));
        }
        _ => {}
    }
    let pattern = match split.dialect {
        Dialect::Oniguruma => split.pattern.clone(),
        Dialect::FancyRegex => checked_for_oniguruma(split)?,
    };
    Ok(json!({
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": behavior,
        "invert": split.invert,
    }))
}

/// Returns a pattern of fancy-regex as Oniguruma reads it. Fails if both readings can be compared
/// and cut differently. For example, `[a--b]` is a difference of classes in one and a range in the
/// other.
fn checked_for_oniguruma(split: &SplitConfig) -> Result<String> {
    let pattern = for_oniguruma(split)?;
    let read = SplitConfig {
        pattern: pattern.clone(),
        dialect: Dialect::Oniguruma,
        ..split.clone()
    };
    let compared = |split: &SplitConfig| split.compile().map(|splitter| splitter.is_linear());
    let differs = match compared(&read) {
        Ok(true) => compared(split)? && !read.cuts_like(split),
        Ok(false) => false,
        Err(_) => true,
    };
    if differs {
        return Err(inexpressible(format!(
            "Oniguruma reads the pattern {:?} differently",
            split.pattern
        )));
    }
    Ok(pattern)
}

/// A pattern of fancy-regex as Oniguruma reads it: `$` becomes `\z`, and a possessive counted
/// repetition a greedy one, which is the same wherever our automaton accepts the pattern.
fn for_oniguruma(split: &SplitConfig) -> Result<String> {
    let mut out = String::with_capacity(split.pattern.len() + 8);
    let mut changed = false;
    let mut in_class = 0usize;
    let mut characters = split.pattern.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(characters.next());
                if out.ends_with("\\p")
                    || out.ends_with("\\P")
                    || out.ends_with("\\x")
                    || out.ends_with("\\u")
                {
                    // The braces of an escape are no repetition.
                    if let Some(c) = characters.next_if(|&c| c == '{') {
                        out.push(c);
                        out.extend(characters.by_ref().take_while(|&c| c != '}'));
                        out.push('}');
                    }
                }
                continue;
            }
            '[' => in_class += 1,
            ']' => in_class = in_class.saturating_sub(1),
            '$' if in_class == 0 => {
                out.push_str(r"\z");
                changed = true;
                continue;
            }
            '}' if in_class == 0 && characters.peek() == Some(&'+') => {
                characters.next();
                changed = true;
            }
            _ => {}
        }
        out.push(c);
    }
    if changed && !split.compile()?.is_linear() {
        return Err(inexpressible(format!(
            "Oniguruma reads the pattern {:?} differently",
            split.pattern
        )));
    }
    Ok(out)
}
