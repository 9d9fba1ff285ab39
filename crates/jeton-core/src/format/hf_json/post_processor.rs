//! `post_processor`.

use serde_json::{Map, Value, json};

use super::{FORMAT, bad, flag, id, inexpressible, kind, members, untyped};
use crate::error::{Error, Result};
use crate::inputs::template::{Part, Segment, Template, TrimOffsets, check_parts};

const PLACE: &str = "post_processor";

pub(super) fn read(component: Option<&Value>) -> Result<Template> {
    match component.filter(|component| !component.is_null()) {
        Some(component) => read_one(component),
        None => Ok(Template::default()),
    }
}

fn read_one(component: &Value) -> Result<Template> {
    let kind = match kind(component, PLACE)? {
        Some(kind) => kind,
        None if !component["single"].is_null() => "TemplateProcessing",
        None if !component["trim_offsets"].is_null() => "RobertaProcessing",
        None if !component["cls"].is_null() => "BertProcessing",
        None => return Err(untyped(PLACE)),
    };
    match kind {
        "ByteLevel" => Ok(Template {
            trim_offsets: read_trim(component)?,
            ..Template::default()
        }),
        "RobertaProcessing" => {
            let (cls, sep) = read_ends(component)?;
            let token = |id| Part::Token { id, type_id: 0 };
            let text = |segment| Part::Text {
                segment,
                type_id: 0,
            };
            Ok(Template {
                single: vec![token(cls), text(Segment::First), token(sep)],
                pair: vec![
                    token(cls),
                    text(Segment::First),
                    token(sep),
                    token(sep),
                    text(Segment::Second),
                    token(sep),
                ],
                trim_offsets: read_trim(component)?,
            })
        }
        "BertProcessing" => {
            let (cls, sep) = read_ends(component)?;
            Ok(Template::bert(cls, sep))
        }
        "TemplateProcessing" => Ok(Template {
            single: read_template(component, "single")?,
            pair: read_template(component, "pair")?,
            trim_offsets: None,
        }),
        "Sequence" => members(component, "processors")?
            .iter()
            .try_fold(Template::default(), |template, step| {
                compose(template, read_one(step)?)
            }),
        name => Err(Error::unsupported(FORMAT, PLACE, name)),
    }
}

/// One processor after the other. Two that add tokens are refused: the second would wrap each piece
/// that the first made.
fn compose(first: Template, second: Template) -> Result<Template> {
    let plain = Template::default();
    let adds = |template: &Template| template.single != plain.single || template.pair != plain.pair;
    if first.trim_offsets.is_some() && second.trim_offsets.is_some() {
        // The second would cut into the text: the reference counts the white space of each token
        // again.
        return Err(Error::unsupported(
            FORMAT,
            PLACE,
            "a Sequence of two processors that trim offsets",
        ));
    }
    let trim_offsets = second.trim_offsets.or(first.trim_offsets);
    let whole = match (adds(&first), adds(&second)) {
        (true, true) => {
            return Err(Error::unsupported(
                FORMAT,
                PLACE,
                "a Sequence of two processors that add tokens",
            ));
        }
        (true, false) => first,
        _ => second,
    };
    Ok(Template {
        trim_offsets,
        ..whole
    })
}

fn read_trim(component: &Value) -> Result<Option<TrimOffsets>> {
    let trims = flag(component, "trim_offsets", true)?;
    let add_prefix_space = flag(component, "add_prefix_space", true)?;
    Ok(trims.then_some(TrimOffsets { add_prefix_space }))
}

/// Ids of `cls` and `sep`.
fn read_ends(component: &Value) -> Result<(u32, u32)> {
    let end = |name: &str| {
        id(&component[name][1])
            .ok_or_else(|| bad(format!("the post-processor's token {name:?} has no id")))
    };
    Ok((end("cls")?, end("sep")?))
}

fn read_template(component: &Value, field: &str) -> Result<Vec<Part>> {
    let written = match &component[field] {
        Value::Null if field == "pair" => return Ok(Template::default().pair),
        Value::Array(parts) => parts,
        _ => {
            return Err(bad(format!(
                "the post-processor's template {field:?} is missing"
            )));
        }
    };
    let mut parts = Vec::with_capacity(written.len());
    for part in written {
        if let Some(name) = part["SpecialToken"]["id"].as_str() {
            let type_id = id(&part["SpecialToken"]["type_id"]).unwrap_or(0);
            let ids = component["special_tokens"][name]["ids"]
                .as_array()
                .ok_or_else(|| bad(format!("the template's token {name:?} has no ids")))?;
            for value in ids {
                let id = id(value)
                    .ok_or_else(|| bad(format!("the template's token {name:?} has a bad id")))?;
                parts.push(Part::Token { id, type_id });
                check_parts(parts.len())?;
            }
        } else {
            let type_id = id(&part["Sequence"]["type_id"]).unwrap_or(0);
            let segment = match part["Sequence"]["id"].as_str() {
                Some("A") => Segment::First,
                Some("B") if field == "pair" => Segment::Second,
                _ => {
                    return Err(bad(format!(
                        "the template {field:?} has a part that is neither a token nor a text: {part}"
                    )));
                }
            };
            parts.push(Part::Text { segment, type_id });
        }
    }
    let texts = |wanted| {
        let is = |part: &&Part| matches!(part, Part::Text { segment, .. } if *segment == wanted);
        parts.iter().filter(is).count()
    };
    if texts(Segment::First) == 0 || (field == "pair" && texts(Segment::Second) == 0) {
        return Err(bad(format!("the template {field:?} leaves a text out")));
    }
    Ok(parts)
}

/// `name`: the text of an id.
pub(super) fn write(template: &Template, name: &dyn Fn(u32) -> Option<String>) -> Result<Value> {
    let mut processors = Vec::new();
    if let Some(trim) = template.trim_offsets {
        processors.push(json!({
            "type": "ByteLevel",
            "add_prefix_space": trim.add_prefix_space,
            "trim_offsets": true,
            "use_regex": true,
        }));
    }
    let plain = Template::default();
    if template.single != plain.single || template.pair != plain.pair {
        let mut special = Map::new();
        let single = write_parts(&template.single, name, &mut special)?;
        let pair = write_parts(&template.pair, name, &mut special)?;
        processors.push(json!({
            "type": "TemplateProcessing",
            "single": single,
            "pair": pair,
            "special_tokens": special,
        }));
    }
    Ok(super::one_or_sequence(processors, "processors"))
}

fn write_parts(
    parts: &[Part],
    name: &dyn Fn(u32) -> Option<String>,
    special: &mut Map<String, Value>,
) -> Result<Vec<Value>> {
    let written = parts.iter().map(|part| match part {
        Part::Text { segment, type_id } => {
            let name = match segment {
                Segment::First => "A",
                Segment::Second => "B",
            };
            Ok(json!({"Sequence": {"id": name, "type_id": type_id}}))
        }
        Part::Token { id, type_id } => {
            let text = name(*id).ok_or_else(|| {
                inexpressible(format!("its template uses id {id}, which has no text"))
            })?;
            let entry = |text: &str| json!({"id": text, "ids": [id], "tokens": [text]});
            // Two ids may have one text, a token's and an added token's; the file knows its tokens
            // by name alone.
            let taken = special.get(&text).is_some_and(|old| *old != entry(&text));
            let text = if taken { format!("{text} {id}") } else { text };
            let new = entry(&text);
            if special.get(&text).is_some_and(|old| *old != new) {
                return Err(inexpressible(format!(
                    "its template uses two ids of the text {text:?}"
                )));
            }
            special.insert(text.clone(), new);
            Ok(json!({"SpecialToken": {"id": text, "type_id": type_id}}))
        }
    });
    written.collect()
}
