//! Small files from which fuzzing starts: one of each shape that a reader knows.

use jeton_core::compiled;
use jeton_core::format::{
    from_canonical, from_hf_json, from_sentencepiece, from_tiktoken, to_canonical,
};
use jeton_core::pretokenize::published;
use jeton_io::compress_zstd;

use super::formats::tiktoken_options;

mod readers;

/// A file to start from.
#[derive(Clone, Debug)]
pub struct Seed {
    /// Name: the case that the seed shows.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
    /// True if the target reads it.
    pub is_read: bool,
}

/// The seeds of a target; none for a name that is no target.
pub fn seeds(target: &str) -> Vec<Seed> {
    match target {
        "tiktoken" => tiktoken(),
        "sentencepiece" => sentencepiece(),
        "charsmap" => vec![
            seed("two-rules", charsmap(), true),
            seed("empty", Vec::new(), true),
        ],
        "hf_json" => hf_json(),
        "canonical" => canonical(),
        "compiled" => compiled(),
        "convert" => convert(),
        "vocab_txt" => vocab_txt(),
        "rwkv" => rwkv(),
        "patterns" => patterns(),
        "boundaries" => boundaries(),
        "gguf" => readers::gguf(),
        "merges" => readers::merges(),
        "tekken" => readers::tekken(),
        "claude" => readers::claude(),
        "clip" => readers::clip(),
        "compression" => compression(),
        "jsonl" => documents(),
        "counts" => counts(),
        _ => Vec::new(),
    }
}

fn seed(name: impl Into<String>, bytes: impl Into<Vec<u8>>, is_read: bool) -> Seed {
    Seed {
        name: name.into(),
        bytes: bytes.into(),
        is_read,
    }
}

/// A file, and the entries of a block behind their number.
fn counts() -> Vec<Seed> {
    let header = jeton_io::counts::CountsHeader {
        recipe: serde_json::json!({"type": "steps"}),
        info: serde_json::json!({}),
    };
    let entries = [(&b"a"[..], 3), (b"ab", 300), (b"b\xff", 1)];
    let file = |n: usize| {
        let entries = entries[..n].iter().copied();
        jeton_io::counts::encoded(&header, entries, 2).unwrap_or_default()
    };
    let mut early = file(3);
    early.truncate(early.len() - 1);
    vec![
        seed("three", file(3), true),
        seed("none", file(0), true),
        seed("ends-early", early, false),
        seed(
            "entries",
            &b"\x03\x00\x01a\x03\x01\x01b\x05\x00\x01b\x01"[..],
            false,
        ),
        seed("not-sorted", &b"\x02\x00\x01b\x03\x00\x01a\x05"[..], false),
        seed(
            "shares-too-much",
            &b"\x02\x00\x01b\x03\x05\x01a\x05"[..],
            false,
        ),
    ]
}

/// Seeds behind the 256 bytes that the target puts in front.
fn tiktoken() -> Vec<Seed> {
    vec![
        seed(
            "merges",
            "aGU= 256\nbGxv 257\naGVsbG8= 258\nIGE= 259\n",
            true,
        ),
        seed(
            "carriage-returns-and-a-hole",
            "aGU= 256\r\n\r\nbGw= 300\r\n",
            true,
        ),
        seed("no-bytes", "= 256\n", true),
        seed("half-characters", "44E= 256\n44GC 257\n", true),
        seed("bytes-twice", "YQ== 256\n", false),
        seed("not-base64", "!! 256\n", false),
        seed("far-away", "aGU= 16777215\n", false),
    ]
}

/// The frame of a Darts-clone array with the rules `a` to `é` and `ab` to nothing, a block of 256
/// units a node.
fn charsmap() -> Vec<u8> {
    let mut units = vec![0u32; 4 * 256];
    let unit = |place: usize, block: usize, label: u8, leaf: bool| {
        ((place ^ block) as u32) << 10 | u32::from(leaf) << 8 | u32::from(label)
    };
    units[0] = unit(0, 256, 0, false);
    let a = 256 ^ usize::from(b'a');
    units[a] = unit(a, 512, b'a', true);
    units[512] = 1 << 31;
    let ab = 512 ^ usize::from(b'b');
    units[ab] = unit(ab, 768, b'b', true);
    units[768] = 1 << 31 | 2;
    let mut blob = ((units.len() * 4) as u32).to_le_bytes().to_vec();
    blob.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    blob.extend_from_slice(b"\xc3\xa9\0\0");
    blob
}

fn varint(out: &mut Vec<u8>, mut value: usize) {
    while value > 0x7F {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A protocol buffer's field of bytes.
fn field(number: usize, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(&mut out, number << 3 | 2);
    varint(&mut out, bytes.len());
    out.extend_from_slice(bytes);
    out
}

/// A protocol buffer's field of a number.
fn number(field: usize, value: usize) -> Vec<u8> {
    let mut out = Vec::new();
    varint(&mut out, field << 3);
    varint(&mut out, value);
    out
}

fn piece(text: &str, score: f32, kind: usize) -> Vec<u8> {
    let score = [&[2 << 3 | 5][..], &score.to_le_bytes()].concat();
    let kind = if kind == 1 {
        Vec::new()
    } else {
        number(3, kind)
    };
    field(1, &[field(1, text.as_bytes()), score, kind].concat())
}

/// A model: its type (1 unigram, 2 BPE, 3 word, 4 char), settings of the trainer, of the
/// normalizer, and the rest.
fn spm(
    model_type: usize,
    trainer: &[Vec<u8>],
    normalizer: &[Vec<u8>],
    rest: &[Vec<u8>],
) -> Vec<u8> {
    let mut file = vec![
        piece("<unk>", 0.0, 2),
        piece("<s>", 0.0, 3),
        piece("</s>", 0.0, 3),
    ];
    if !trainer.is_empty() {
        file.extend((0..=255u8).map(|byte| piece(&format!("<0x{byte:02X}>"), 0.0, 6)));
    }
    let pieces = [
        "\u{2581}",
        "a",
        "b",
        "\u{2581}a",
        "ab",
        "\u{2581}ab",
        "é",
        "\u{2581}the",
        "Hello",
        "l",
        "o",
    ];
    file.extend(
        (1u8..)
            .zip(pieces)
            .map(|(rank, text)| piece(text, -f32::from(rank), 1)),
    );
    file.extend([piece("<mask>", 0.0, 4), piece("zz", -50.0, 5)]);
    file.push(field(
        2,
        &[number(3, model_type), trainer.concat()].concat(),
    ));
    file.push(field(3, &normalizer.concat()));
    file.extend_from_slice(rest);
    file.concat()
}

fn sentencepiece() -> Vec<Seed> {
    let rules = || field(2, &charsmap());
    vec![
        seed("unigram", spm(1, &[], &[], &[]), true),
        seed("bpe", spm(2, &[], &[number(4, 0)], &[]), true),
        seed("word", spm(3, &[], &[number(3, 0)], &[]), true),
        seed("char", spm(4, &[], &[number(5, 0)], &[]), true),
        seed("unigram-bytes", spm(1, &[number(35, 1)], &[], &[]), true),
        seed(
            "bpe-bytes-suffix",
            spm(2, &[number(35, 1), number(24, 1)], &[], &[]),
            true,
        ),
        seed(
            "rules",
            spm(
                1,
                &[],
                &[field(1, b"nmt_nfkc"), rules()],
                &[field(5, &rules())],
            ),
            true,
        ),
        seed(
            "unknown-fields",
            spm(2, &[], &[], &[field(4, b"samples"), number(200, 7)]),
            true,
        ),
        seed("no-pieces", field(2, &number(3, 1)), false),
    ]
}

/// A byte-level BPE with the given rest of the file.
fn bpe(vocab: &str, model: &str, rest: &str) -> String {
    format!(
        r#"{{"version":"1.0","added_tokens":[{{"id":9,"content":"<s>","special":true,"normalized":false}},{{"id":10,"content":"  ","special":false,"lstrip":true,"rstrip":true,"single_word":true,"normalized":true}}],"normalizer":null,{rest},"decoder":{{"type":"ByteLevel"}},"model":{{"type":"BPE",{model}"vocab":{{"a":0,"b":1,"l":2,"o":3,"Ġ":4,"ab":5,"Ġa":6,"lo":7,"<unk>":8{vocab}}},"merges":[["a","b"],"Ġ a",["l","o"]]}}}}"#
    )
}

const BYTE_LEVEL: &str =
    r#""pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":true}"#;

fn hf_json() -> Vec<Seed> {
    let steps = r#""pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"Punctuation","behavior":"Contiguous"},{"type":"Split","pattern":{"Regex":"\\s+(?!\\S)|\\p{L}+"},"behavior":"MergedWithNext","invert":true},{"type":"Split","pattern":{"String":"."},"behavior":"Removed","invert":false},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false},{"type":"Split","pattern":{"Regex":"\\p{N}"},"behavior":"Isolated"}]}"#;
    let template = r#","post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"<s>":{"id":"<s>","ids":[9],"tokens":["<s>"]}}}"#;
    let roberta = r#","post_processor":{"type":"RobertaProcessing","sep":["<s>",9],"cls":["<s>",9],"trim_offsets":true,"add_prefix_space":false}"#;
    let normalizer =
        r#""normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"NFKD"}]}"#;
    let prefix = BYTE_LEVEL.replace("\"add_prefix_space\":false", "\"add_prefix_space\":true");
    let normalized = bpe("", "", BYTE_LEVEL).replace("\"normalizer\":null", normalizer);
    vec![
        seed("byte-level", bpe("", "", BYTE_LEVEL), true),
        seed(
            "prefix-space",
            bpe("", "\"ignore_merges\":true,", &prefix),
            true,
        ),
        seed(
            "unknown",
            bpe("", "\"unk_token\":\"<unk>\",", BYTE_LEVEL),
            true,
        ),
        seed("steps", bpe("", "", steps), true),
        seed(
            "template",
            bpe("", "", &format!("{BYTE_LEVEL}{template}")),
            true,
        ),
        seed(
            "roberta",
            bpe("", "", &format!("{BYTE_LEVEL}{roberta}")),
            true,
        ),
        seed("normalizer", normalized, true),
        seed("hole", bpe(",\"zz\":40", "", BYTE_LEVEL), true),
        seed("high-id", bpe(",\"<s>\":4294967295", "", BYTE_LEVEL), false),
    ]
}

/// Seeds that can be read in one of the three formats that hold most kinds of tokenizers.
fn convert() -> Vec<Seed> {
    let named = |kind: &'static str| {
        move |seed: Seed| Seed {
            name: format!("{kind}-{}", seed.name),
            ..seed
        }
    };
    let read = |seed: &Seed| seed.is_read;
    let forms = canonical().into_iter().filter(read).map(named("canonical"));
    let files = hf_json().into_iter().filter(read).map(named("hf"));
    let models = sentencepiece().into_iter().filter(read).map(named("spm"));
    forms.chain(files).chain(models).collect()
}

/// The canonical form of the other formats' seeds.
fn canonical() -> Vec<Seed> {
    let ranks =
        (0..=255u8).map(|byte| format!("{} {byte}\n", super::formats::base64_of_byte(byte)));
    let ranks: String = ranks.chain(["aGU= 256\n".to_owned()]).collect();
    let options = tiktoken_options(&[("<|endoftext|>", 300)]);
    let read = [(
        "tiktoken".to_owned(),
        from_tiktoken(ranks.as_bytes(), options),
    )]
    .into_iter();
    let hf = hf_json().into_iter().filter(|seed| seed.is_read);
    let spm = sentencepiece().into_iter().filter(|seed| seed.is_read);
    read.chain(hf.map(|seed| (format!("hf-{}", seed.name), from_hf_json(&seed.bytes))))
        .chain(spm.map(|seed| {
            (
                format!("spm-{}", seed.name),
                from_sentencepiece(&seed.bytes),
            )
        }))
        .map(|(name, read)| {
            let read = read.expect("a seed that is read is read");
            let bytes = to_canonical(&read).expect("what was read has a canonical form");
            seed(name, bytes, true)
        })
        .collect()
}

/// Seeds behind the header of the compiled form, from the other formats' seeds.
fn compiled() -> Vec<Seed> {
    const HEADER_BYTES: usize = 40;
    let forms = canonical().into_iter().filter_map(|form| {
        let tokenizer = from_canonical(&form.bytes).expect("a seed that is read is read");
        // SentencePiece models have none.
        let bytes = compiled::to_bytes(&tokenizer, Some(&form.name)).ok()?;
        Some(seed(form.name, &bytes[HEADER_BYTES..], true))
    });
    forms.collect()
}

fn vocab_txt() -> Vec<Seed> {
    vec![
        seed(
            "bert",
            "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nhello\n##,\n,\nthe\n中\n",
            true,
        ),
        seed("no-unknown", "a\n##a\n##\n\na\n", true),
        seed(
            "carriage-returns",
            "[UNK]\r\na \r\n  b\r\n##\u{a0}\r\n",
            true,
        ),
        seed("nothing", "\n\n", false),
        seed("not-text", b"a\n\xff\n", false),
    ]
}

/// Seeds behind the 256 bytes that the target puts in front.
fn rwkv() -> Vec<Seed> {
    vec![
        seed(
            "tokens",
            "257 ' the' 4\n258 'é' 2\n259 b'\\xe4\\xb8' 2\n",
            true,
        ),
        seed(
            "escapes",
            "257 '\\u3000\\U0001F600\\t\\'' 9\r\n400 \"it's\" 4\n",
            true,
        ),
        seed("length", "257 'ab' 3\n", false),
        seed("open", "257 'ab 3\n", false),
    ]
}

/// Seeds of texts that the published patterns cut, longer than a block.
fn boundaries() -> Vec<Seed> {
    let text = "don't 12345\n\n  x = f(y);  中文 E\u{301}; we'LL\t\tnaïve ".repeat(3);
    let published = published::PATTERNS.iter().map(|&(name, pattern, _)| {
        let bytes = [pattern.as_bytes(), b"\0", text.as_bytes()].concat();
        seed(name.replace('/', "-"), bytes, true)
    });
    let open = seed("open", "(a\0text", false);
    published.chain([open]).collect()
}

fn patterns() -> Vec<Seed> {
    let text = "\0don't 12345\n\n  x = f(y);  中文 E\u{301}";
    let dialects = [("fancy", 0u8), ("oniguruma", 1)];
    let published = published::PATTERNS.iter().flat_map(|&(name, pattern, _)| {
        dialects.map(|(dialect, choice)| {
            let bytes = [&[choice][..], pattern.as_bytes(), text.as_bytes()].concat();
            seed(format!("{name}-{dialect}").replace('/', "-"), bytes, true)
        })
    });
    // Choices: 1 dialect, 2 invert, 4 byte alphabet, 8 and more behaviour.
    let more: [(&str, u8, &str, bool); 9] = [
        ("look-behind", 8, r"(?<=a)b|\b\w+", true),
        ("possessive", 17, r"(?:a|ab)++c?+|\d{1,3}+", true),
        ("lazy", 25, r"\s*?[\r\n]+?|[^\S\p{Lu}&&\w]", true),
        (
            "class",
            32,
            r"[[:alpha:]--[a-e]~~[d-z]]+|[^\x{41}-\u00e9]",
            true,
        ),
        ("byte-alphabet", 5, r"\p{N}{1,3}|\p{L}+", true),
        ("inverted", 10, r"(?i:'s|'t)|$|\z", true),
        ("back-reference", 0, r"(a)\1+", true),
        ("open", 0, r"(a", false),
        ("counted", 1, r"(?:(?:\w{10}){10}){10}", true),
    ];
    published
        .chain(more.map(|(name, choice, pattern, is_read)| {
            let bytes = [&[choice][..], pattern.as_bytes(), text.as_bytes()].concat();
            seed(name, bytes, is_read)
        }))
        .collect()
}

/// gzip of three times `{"text": "one"}\nplain\r\ntext\n`, made with Python's `gzip` (level 9, no
/// time).
const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xab\x56\x2a\x49\xad\x28\x51\xb2\x52\x50\xca\xcf\x4b\x55\xaa\xe5\x2a\xc8\x49\xcc\xcc\xe3\xe5\x02\x09\x72\x55\x93\x29\x07\x00\x8e\x56\x95\x4a\x54\x00\x00\x00";

fn compression() -> Vec<Seed> {
    let packed =
        |data: &[u8], level| compress_zstd(data, level).expect("bytes in memory can be compressed");
    let text = b"a text that comes again and again, a text that comes again".repeat(5);
    vec![
        seed("gzip", GZIP, true),
        seed("gzip-members", [GZIP, GZIP].concat(), true),
        seed("zstd", packed(&text, 3), true),
        seed(
            "zstd-frames",
            [packed(&text, 1), packed(b"", 1), packed(b"raw", 19)].concat(),
            true,
        ),
        seed(
            "zstd-skippable",
            [&b"\x50\x2a\x4d\x18\x03\0\0\0abc"[..], &packed(&text, 9)].concat(),
            true,
        ),
        seed("zstd-bomb", packed(&vec![0; 2 << 20], 19), false),
        seed("plain", "plain", false),
    ]
}

/// Choices: 1 text (else JSON lines), 2 whole file, 4 a nested field, 8 small, 16 strict, 32 short
/// lines.
fn documents() -> Vec<Seed> {
    let seed = |name: &str, choice: u8, file: &[u8], is_read| {
        seed(name, [&[choice], file].concat(), is_read)
    };
    vec![
        seed(
            "jsonl",
            0,
            b"{\"id\": 1e5, \"text\": \"one\"}\n\n{\"text\": \"tw\\u00f6 \\ud83d\\ude00 \\ud800\"}",
            true,
        ),
        seed(
            "jsonl-nested",
            4,
            b"{\"message\": {\"role\": [null, true], \"content\": \"x\"}}\r\n",
            true,
        ),
        seed("jsonl-not-text", 0, b"{\"text\": \"\xff\\\"\"}\n", true),
        seed("jsonl-strict", 16, b"{\"text\": \"\xff\"}\n", false),
        seed("jsonl-no-field", 0, b"{\"body\": \"x\"}\n", false),
        seed("lines", 1, b"\xef\xbb\xbfone\r\ntwo\n\nthree", true),
        seed(
            "lines-small",
            9,
            "eine längere Zeile\nkurz\n".as_bytes(),
            true,
        ),
        seed(
            "file-small",
            11,
            "eine längere Zeile\nkurz\n".as_bytes(),
            true,
        ),
        seed("file-gzip", 3, GZIP, true),
        seed("file-strict", 19, b"a\xe2\x82", false),
    ]
}
