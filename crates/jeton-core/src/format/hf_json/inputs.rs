//! `truncation` and `padding`.

use serde_json::{Value, json};

use super::{FORMAT, bad, id, number, text};
use crate::error::{Error, Result};
use crate::inputs::{Padding, Side, Truncation, TruncationStrategy};

fn read_side(component: &Value) -> Result<Side> {
    match component["direction"].as_str() {
        None | Some("Right") => Ok(Side::Right),
        Some("Left") => Ok(Side::Left),
        Some(other) => Err(Error::unsupported(FORMAT, "direction", other)),
    }
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Left => "Left",
        Side::Right => "Right",
    }
}

pub(super) fn read_truncation(component: Option<&Value>) -> Result<Option<Truncation>> {
    let Some(component) = component.filter(|component| !component.is_null()) else {
        return Ok(None);
    };
    let strategy = match text(component, "strategy")? {
        "LongestFirst" => TruncationStrategy::LongestFirst,
        "OnlyFirst" => TruncationStrategy::OnlyFirst,
        "OnlySecond" => TruncationStrategy::OnlySecond,
        other => return Err(Error::unsupported(FORMAT, "truncation", other)),
    };
    Ok(Some(Truncation {
        max_length: number(component, "max_length")?,
        stride: number(component, "stride")?,
        strategy,
        direction: read_side(component)?,
    }))
}

pub(super) fn write_truncation(truncation: Option<&Truncation>) -> Value {
    let Some(truncation) = truncation else {
        return Value::Null;
    };
    json!({
        "direction": side_name(truncation.direction),
        "max_length": truncation.max_length,
        "strategy": match truncation.strategy {
            TruncationStrategy::LongestFirst => "LongestFirst",
            TruncationStrategy::OnlyFirst => "OnlyFirst",
            TruncationStrategy::OnlySecond => "OnlySecond",
        },
        "stride": truncation.stride,
    })
}

pub(super) fn read_padding(component: Option<&Value>) -> Result<Option<Padding>> {
    let Some(component) = component.filter(|component| !component.is_null()) else {
        return Ok(None);
    };
    let fixed_length = match &component["strategy"] {
        Value::String(name) if name == "BatchLongest" => None,
        strategy => Some(
            strategy["Fixed"]
                .as_u64()
                .ok_or_else(|| Error::unsupported(FORMAT, "padding", strategy.to_string()))?,
        ),
    };
    let whole = |field: &str| {
        id(&component[field])
            .ok_or_else(|| bad(format!("the padding's {field:?} is missing or no id")))
    };
    Ok(Some(Padding {
        fixed_length,
        direction: read_side(component)?,
        pad_to_multiple_of: component["pad_to_multiple_of"].as_u64(),
        pad_id: whole("pad_id")?,
        pad_type_id: whole("pad_type_id")?,
        pad_token: text(component, "pad_token")?.to_owned(),
    }))
}

pub(super) fn write_padding(padding: Option<&Padding>) -> Value {
    let Some(padding) = padding else {
        return Value::Null;
    };
    json!({
        "strategy": match padding.fixed_length {
            Some(length) => json!({"Fixed": length}),
            None => json!("BatchLongest"),
        },
        "direction": side_name(padding.direction),
        "pad_to_multiple_of": padding.pad_to_multiple_of,
        "pad_id": padding.pad_id,
        "pad_type_id": padding.pad_type_id,
        "pad_token": padding.pad_token,
    })
}
