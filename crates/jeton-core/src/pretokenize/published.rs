//! The published split patterns by name, and one of our own.
//!
//! Patterns are facts about the vocabularies that were trained with them. Where a library writes a
//! pattern with possessive repetition only to save backtracking, both forms split alike (a test
//! compares them on hostile text).

/// GPT-2's pattern, which `tokenizers` builds into its `ByteLevel` step.
pub const GPT2: &str =
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// Jeton's own pattern for source code; docs/guides/code.md tells what each part is for.
///
/// Identifiers are cut where the case changes and before underscores. One sign that is written
/// close to names, and underscores, begin the part behind them. Operators of several characters and
/// quotes of three are whole, and every bracket is apart. A line end and the indentation behind it
/// are one pretoken.
pub const CODE: &str = concat!(
    // Escapes of one character: a backslash and a letter, quote or backslash.
    r#"\\[abefnrtv0'"\\]"#,
    // Parts of identifiers, and words.
    r"| ?[.$@#]?_*[\p{Lu}\p{Lt}]?[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"| ?[.$@#]?_*[\p{Lu}\p{Lt}]+(?![\p{Ll}\p{Lm}\p{Lo}\p{M}])",
    r"|\p{N}{1,3}",
    // Rulers, then operators and marks, the longest first, then whatever else there is, one by one.
    r"| ?(?:={4,}|-{3,}|#{3,}|\*{3,}|/{3,}|~{3,}|\.{4,}|_+",
    r#"|<!--|-->|>>>=|===|!==|<=>|<<=|>>=|>>>|\*\*=|//=|&&=|\|\|=|\?\?=|\.\.\.|\.\.=|\.\.<|->\*|/\*\*|"""|'''|```"#,
    r"|==|!=|<=|>=|<>|<-|->|=>|=~|!~|\+\+|--|::|&&|\|\||<<|>>|\*\*|//|/\*|\*/|</|/>|\?\?|\?\.|\?:|\.\.|\|>",
    r"|\+=|-=|\*=|/=|%=|&=|\|=|\^=|:=|~=|@=|##|\$\{|#\{|[^\s\p{L}\p{N}])",
    // Line ends with what indents the next line; runs of spaces; a single one.
    r"|\s*[\r\n]+[^\S\r\n]*|[^\S\r\n]{2,}|\s",
);

/// (name, pattern, where it was published).
pub const PATTERNS: &[(&str, &str, &str)] = &[
    (
        "gpt2",
        GPT2,
        "openai/gpt-2 src/encoder.py; openai/whisper whisper/tokenizer.py",
    ),
    (
        "r50k_base",
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
        "openai/tiktoken tiktoken_ext/openai_public.py",
    ),
    (
        "p50k_base",
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
        "openai/tiktoken tiktoken_ext/openai_public.py",
    ),
    (
        "cl100k_base",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        "openai/tiktoken tiktoken_ext/openai_public.py",
    ),
    (
        "o200k_base",
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
        "openai/tiktoken tiktoken_ext/openai_public.py",
    ),
    (
        "llama3",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        "meta-llama/llama-models models/llama3/tokenizer.py",
    ),
    (
        "llama4",
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
        "meta-llama/llama-models models/llama4/tokenizer.py",
    ),
    (
        "qwen",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        "Qwen tokenization_qwen.py",
    ),
    (
        "kimi_k2",
        concat!(
            r"[\p{Han}]+",
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
        "moonshotai Kimi-K2 tokenization_kimi.py",
    ),
    ("code", CODE, "docs/guides/code.md"),
];

/// The pattern of a published name.
pub fn by_name(name: &str) -> Option<&'static str> {
    PATTERNS
        .iter()
        .find(|(known, ..)| *known == name)
        .map(|(_, pattern, _)| *pattern)
}
