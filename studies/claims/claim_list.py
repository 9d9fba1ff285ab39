"""The claims, each with its verdict, the figure that decides, and the condition behind it."""

from __future__ import annotations

from studies.claims.figures import Figures
from studies.claims.verdicts import Claim, Verdict

__all__ = ["CLAIMS"]

_GENERAL = ("r50k_base", "cl100k_base", "o200k_base", "llama3")
_MODERN = ("cl100k_base", "o200k_base", "llama3")


def _domain(f: Figures) -> bool:
    modern = max(
        f.value(f"sizes.{domain}.saving.131072.{name}")
        for domain in ("medical", "legal", "code")
        for name in _MODERN
    )
    superwords = [
        f.value(f"domains.change.{domain}.same.superwords.64000")
        for domain in ("medical", "legal", "code")
    ]
    spanning = min(superwords) > -0.40 and max(superwords) < -0.20
    return spanning and modern < 0.15 < 0.20 <= f.value("sizes.code.saving.32768.r50k_base")


def _padding(f: Figures) -> bool:
    traffic = ("azure-conversation", "azure-code", "mooncake-conversation", "customer-dialogues")
    waste = [f.value(f"lengths.{name}.static-waste") for name in traffic]
    saves = [f.value(f"lengths.{name}.dynamic-saves") for name in traffic]
    return min(waste) < 0.2 and max(waste) > 0.6 and min(saves) < 0.01 and max(saves) > 0.5


def _prediction(f: Figures) -> bool:
    static = [figure.value for figure in f.below("traffic.lift-over-static").values()]
    paged = [figure.value for figure in f.below("traffic.lift-over-dynamic").values()]
    return max(static) > 0.25 and min(static) < 0.25 and -0.25 < max(paged) < 0.05


def _use(f: Figures) -> bool:
    shares = [figure.value for figure in f.below("use.used").values()]
    return min(shares) < 0.2 and max(shares) > 0.4


def _cleaning(f: Figures) -> bool:
    plain = ("medical abstracts", "contracts", "prompts", "tweets")
    return (
        max(f.value(f"cleaning.saving.{name}.all of them") for name in plain) < 0.20
        and f.value("cleaning.still-parses.joined on white space") < 0.1
    )


def _code(f: Figures) -> bool:
    python = f["code.saving.Python.starcoder"]
    return (
        python.high is not None
        and python.high >= 0.40
        and f.value("code.saving.Go.starcoder") < 0.15
        and f.value("code.saving.Python.p50k_base") < 0.40
        and f.value("code.flat.starcoder") < 0.15
    )


CLAIMS = (
    Claim(
        "domain",
        "a domain tokenizer needs 20-40% fewer tokens on its domain (35% typical)",
        Verdict.WHERE,
        "the other vocabulary is GPT-2's and the domain is code, or tokens may span words; words "
        "alone stay below 15% against vocabularies of today",
        "32,768 ids against GPT-2 and against o200k: medicine "
        "{{ pct('sizes.medical.saving.32768.r50k_base', 0) }} and "
        "{{ pct('sizes.medical.saving.32768.o200k_base', 0) }}, law "
        "{{ pct('sizes.legal.saving.32768.r50k_base', 0) }} and "
        "{{ pct('sizes.legal.saving.32768.o200k_base', 0) }}, code "
        "{{ pct_i('sizes.code.saving.32768.r50k_base', 0) }} and "
        "{{ pct_i('sizes.code.saving.32768.o200k_base', 0) }}; "
        "superwords, 64,000 ids, against o200k: "
        "{{ signed('domains.change.medical.same.superwords.64000') }}, "
        "{{ signed('domains.change.legal.same.superwords.64000') }}, "
        "{{ signed('domains.change.code.same.superwords.64000') }}",
        _domain,
        ("sizes", "domain", "domains"),
    ),
    Claim(
        "abstract",
        "a 500-word medical abstract goes from 700 to 2,000 tokens under a general tokenizer",
        Verdict.REFUTED,
        "the general vocabularies need about as many as the domain ones",
        "{{ num_i('domain.abstract.tokens-per-500-words.cl100k_base') }} tokens under cl100k, "
        "{{ num_i('domain.abstract.tokens-per-500-words.scibert') }} under SciBERT",
        lambda f: f.value("domain.abstract.most.cl100k_base") < 2000,
        ("domain",),
    ),
    Claim(
        "sixteen",
        "4x the tokens cost 16x the compute",
        Verdict.WHERE,
        "texts are far beyond 100,000 tokens: only attention is quadratic",
        "Llama-3-8B, 2,048 to 8,192 tokens: {{ x('attention.four-times.llama-3-8b.2048', 1) }}; "
        "15x from {{ num('attention.first-length.llama-3-8b.15x') }} tokens on",
        lambda f: (
            f.value("attention.four-times.llama-3-8b.2048") < 5
            and f.value("attention.first-length.llama-3-8b.15x") > 100_000
        ),
        ("attention",),
    ),
    Claim(
        "quadratic-memory",
        "attention memory grows quadratically",
        Verdict.WHERE,
        "the scores are written down, which no fused kernel does; the KV cache is linear",
        "8,192 tokens of Llama-3-8B: {{ num('attention.scores-gb.8192', 2) }} GB of scores a layer "
        "unfused, none fused; KV cache {{ num('attention.kv-gb.8192', 2) }} GB",
        lambda f: (
            f.value("attention.scores-gb.8192") > 15 * f.value("attention.scores-gb.2048")
            and f.value("attention.kv-gb.8192") == 4 * f.value("attention.kv-gb.2048")
        ),
        ("attention",),
    ),
    Claim(
        "four-gigabytes",
        "a 2,048-token sequence in a 7B model needs about 4 GB",
        Verdict.ARITHMETIC,
        "a quarter of it in the model with the largest cache",
        "{{ num('attention.kv-2048-gb.llama-2-7b', 2) }} GB (Llama-2-7B), "
        "{{ num('attention.kv-2048-gb.llama-3-8b', 2) }} GB (Llama-3-8B), bf16",
        lambda f: max(v.value for v in f.below("attention.kv-2048-gb").values()) < 2,
        ("attention",),
    ),
    Claim(
        "ten-percent",
        "+10% tokens at 100M tokens/day and $0.0004 per 1K is $4,000 a day",
        Verdict.ARITHMETIC,
        "a thousand times too much",
        "{{ usd('money.ten-percent.usd-per-day') }} a day, "
        "{{ usd('money.ten-percent.usd-per-year') }} a year",
        lambda f: f.value("money.ten-percent.usd-per-day") == 4,
        ("money",),
    ),
    Claim(
        "padding",
        "static padding to 2,048 wastes up to 60%; dynamic length saves 35-50%",
        Verdict.WHERE,
        "lengths happen to be so: real traffic gives nearly any figure",
        "wasted {{ pct('lengths.mooncake-conversation.static-waste', 0) }} to "
        "{{ pct('lengths.mathematics-questions.static-waste', 0) }}, saved "
        "{{ pct('lengths.azure-code.dynamic-saves', 0) }} to "
        "{{ pct('lengths.mathematics-questions.dynamic-saves', 0) }} by workload",
        _padding,
        ("lengths",),
    ),
    Claim(
        "prediction",
        "predictive allocation lifts GPU utilisation by 25%",
        Verdict.WHERE,
        "the engine reserved the longest answer for every request; over pages that are handed out "
        "as tokens come it gains nothing",
        "tokens per second at full load: {{ signed(static_least) }} to {{ signed(static_most) }} "
        "over static reservation, {{ signed(paged_least) }} to {{ signed(paged_most) }} over pages",
        _prediction,
        ("traffic", "lengths"),
    ),
    Claim(
        "naive-engineered",
        "naive $12,500 against engineered $4,800 a month",
        Verdict.WHERE,
        "all of the work may wait for a batch tariff, and nearly so even then; a cache alone saves "
        "far less",
        "cache {{ pct('pipeline.saved-cache') }}, cache and batch tariff "
        "{{ pct('pipeline.saved-both') }} of the bill; claimed {{ pct('pipeline.saved-claimed') }}",
        lambda f: (
            f.value("pipeline.saved-cache") < 0.2
            and 0.4 < f.value("pipeline.saved-both") < f.value("pipeline.saved-claimed")
        ),
        ("pipeline",),
    ),
    Claim(
        "preprocessing",
        "preprocessing gives 40% fewer tokens",
        Verdict.WHERE,
        "the text is mark-up or layout; on prose it is a few percent, and on code it destroys the "
        "program",
        "all usual steps: {{ pct_i('cleaning.saving.medical abstracts.all of them') }} on "
        "abstracts, {{ pct_i('cleaning.saving.HTML.all of them') }} on HTML",
        _cleaning,
        ("cleaning",),
    ),
    Claim(
        "semantic-chunking",
        "semantic chunking gives 60% context retention",
        Verdict.REFUTED,
        "cuts at any token keep more than that, and ends of sentences alone keep as much as "
        "semantic chunking",
        "passages that lie whole in a chunk of 200 tokens: {{ pct_i('chunking.whole.200.semantic') "
        "}} semantic, {{ pct_i('chunking.whole.200.sentences') }} sentences, "
        "{{ pct_i('chunking.whole.200.tokens') }} any token",
        lambda f: (
            f.value("chunking.whole.200.tokens") > 0.6
            and abs(
                f.value("chunking.whole.200.semantic") - f.value("chunking.whole.200.sentences")
            )
            < 0.03
        ),
        ("chunking",),
    ),
    Claim(
        "batches",
        "parallel batches are 10x a loop, 50x on 128 cores",
        Verdict.REFUTED,
        "a call gains a little over a loop on a core; the rest is the number of cores",
        "on one core {{ x('speed.lists-over-call.2,500 bytes') }} (texts of 2,500 bytes) and "
        "{{ x('speed.lists-over-call.100 bytes') }} (100 bytes)",
        lambda f: max(f.value(f"speed.lists-over-call.{n} bytes") for n in ("100", "2,500")) < 5,
        ("speed",),
    ),
    Claim(
        "vocabulary-use",
        "vocabulary use of 20-40% is normal",
        Verdict.WHERE,
        "vocabulary and amount of text happen to fit: the share says as much about the size of the "
        "corpus as about the tokenizer",
        "{{ pct(use_least) }} to {{ pct(use_most) }} by corpus and vocabulary",
        _use,
        ("use",),
    ),
    Claim(
        "doubling",
        "bigger vocabulary: each doubling slows inference by 20%",
        Verdict.WHERE,
        "the model is small; large models read a few percent more",
        "{{ num('tables.doubling-slower') }} of {{ num('tables.doubling-models') }} models reach "
        "20%, the largest {{ num('tables.doubling-largest-slower-billions', 1) }}B; Llama-3-8B "
        "{{ pct('tables.doubling.llama-3-8b') }}",
        lambda f: (
            f.value("tables.doubling-max-from-7b") < 0.2
            and f.value("tables.doubling-largest-slower-billions") < 3
        ),
        ("tables",),
    ),
    Claim(
        "padding-side",
        "left padding for encoders, right for generation",
        Verdict.REFUTED,
        "it is the other way round for decoder-only generation",
        "padded right, {{ pct('lengths.rows-ending-in-padding') }} of the rows of a batch "
        "of 32 would continue after padding",
        lambda f: (
            f.value("sides.decoder.right") == f.value("sides.encoder.left") == 1
            and f.value("sides.decoder.left") == f.value("sides.encoder.right") == 0
        ),
        ("sides", "lengths"),
    ),
    Claim(
        "decode-step",
        "a larger context's KV read is the cost of a decode step (1 ms at 900 GB/s)",
        Verdict.REFUTED,
        "the weights are read too, and they are most of it; batches of long contexts are another "
        "matter",
        "Llama-2-7B, 2,048 tokens: weights {{ num('attention.decode.weights-ms', 1) }} ms, KV "
        "{{ num('attention.decode.kv-ms.2048', 1) }} ms",
        lambda f: (
            f.value("attention.decode.weights-ms") > 10 * f.value("attention.decode.kv-ms.2048")
        ),
        ("attention",),
    ),
    Claim(
        "three-times-memory",
        "3x the tokens need 3x the VRAM",
        Verdict.REFUTED,
        "weights stay; only the cache grows",
        "Llama-2-7B, one request of 2,048 against 6,144 tokens: "
        "{{ num('attention.vram.2048-gb', 1) }} to {{ num('attention.vram.6144-gb', 1) }} GB, "
        "{{ x('attention.vram.ratio') }}",
        lambda f: f.value("attention.vram.ratio") < 1.5,
        ("attention",),
    ),
    Claim(
        "switching",
        "a serving stack can switch tokenizers at run time to save latency",
        Verdict.REFUTED,
        "ids belong to the model; switch endpoints instead",
        "{{ pct('generation.same-id.cl100k_base-o200k_base', 2) }} of the ids mean the same in "
        "cl100k and o200k",
        lambda f: f.value("generation.same-id.cl100k_base-o200k_base") < 0.01,
        ("generation",),
    ),
    Claim(
        "shares",
        "Llama-3-8B: embeddings 6.5%, attention 50%, FFN 43.5% of the parameters",
        Verdict.ARITHMETIC,
        "one of two tables was counted, and attention thrice",
        "{{ pct('tables.parameters.embeddings') }}, {{ pct('tables.parameters.attention') }}, "
        "{{ pct('tables.parameters.ffn') }}",
        lambda f: f.value("tables.parameters.attention") < 0.2,
        ("tables",),
    ),
    Claim(
        "fifty-megabytes",
        "each 1K of vocabulary adds 50 MB to a 7B",
        Verdict.ARITHMETIC,
        "",
        "{{ num('tables.thousand.bf16-mb', 1) }} MB a matrix in bf16, "
        "{{ num('tables.thousand.bf16-two-mb', 1) }} MB with an output head of its own",
        lambda f: f.value("tables.thousand.bf16-two-mb") < 20,
        ("tables",),
    ),
    Claim(
        "halving",
        "halving the vocabulary doubles speed or batch",
        Verdict.REFUTED,
        "",
        "Llama-3-8B: {{ pct('tables.halving.reads') }} fewer bytes a step; "
        "{{ num('tables.halving.fit-before.h100') }} to {{ num('tables.halving.fit-after.h100') }} "
        "requests of 8,192 tokens on an H100",
        lambda f: (
            f.value("tables.halving.reads") < 0.1
            and f.value("tables.halving.fit-after.h100")
            < 1.1 * f.value("tables.halving.fit-before.h100")
        ),
        ("tables",),
    ),
    Claim(
        "chinese",
        "Chinese needs 10x the tokens of English; 4 characters are 12 GPT-2 tokens",
        Verdict.REFUTED,
        "not even under GPT-2; other languages do reach ten times",
        "{{ x('declaration.premium.r50k_base.Chinese') }} (GPT-2), "
        "{{ x('declaration.premium.cl100k_base.Chinese') }} (cl100k), "
        "{{ x('declaration.premium.o200k_base.Chinese') }} (o200k); 4 characters are "
        "{{ num('declaration.four.mean.r50k_base', 1) }} GPT-2 tokens",
        lambda f: (
            f.value("declaration.premium.r50k_base.Chinese") < 4
            and f.value("declaration.four.twelve.r50k_base") < 0.01
        ),
        ("declaration", "languages"),
    ),
    Claim(
        "chinese-spaces",
        "segmenting Chinese with spaces before tokenizing saves tokens",
        Verdict.REFUTED,
        "it costs tokens under every vocabulary",
        "{{ signed_i('languages.spaces.growth.r50k_base') }} (GPT-2), "
        "{{ signed_i('languages.spaces.growth.o200k_base') }} (o200k)",
        lambda f: (
            min(figure.low or 0 for figure in f.below("languages.spaces.growth").values()) > 0
        ),
        ("languages",),
    ),
    Claim(
        "code",
        "a code tokenizer needs 40% fewer tokens than GPT-3's",
        Verdict.WHERE,
        "lines are indented: most of it is runs of spaces, which every later vocabulary has",
        "Python: Codex {{ pct_i('code.saving.Python.p50k_base') }}, StarCoder "
        "{{ pct_i('code.saving.Python.starcoder') }}, cl100k "
        "{{ pct_i('code.saving.Python.cl100k_base') }}",
        _code,
        ("code",),
    ),
    Claim(
        "characters",
        "character level makes sequences 100-200x (or 5-10x) longer and never needs UNK",
        Verdict.REFUTED,
        "four to five times for English and code, less elsewhere; and new characters do come",
        "English {{ x('languages.characters.english.cl100k_base', 1) }}, code "
        "{{ x('languages.characters.code.cl100k_base', 1) }}, Chinese "
        "{{ x('languages.characters.chinese.cl100k_base', 1) }}; unknown characters in "
        "{{ pct('languages.unseen.documents.translations') }} of new documents",
        lambda f: (
            max(f.value(k) for k in f if k.startswith("languages.characters.")) < 5.5
            and f.value("languages.unseen.documents.translations") > 0
        ),
        ("languages",),
    ),
    Claim(
        "absurd-rates",
        "naive $12,500 against $4,800 for 10M tokens a month; $223,000 a year saved by 900 tokens "
        "per chat",
        Verdict.ARITHMETIC,
        "no list price comes near",
        "{{ usd('money.month.naive-rate') }} per million tokens; "
        "{{ millions('money.chats.per-year-cheap') }} million chats a year",
        lambda f: (
            f.value("money.month.naive-rate") > 10 * f.value("money.month.gpt-4-32k-rate")
            and f.value("money.chats.per-year-cheap") > 6e8
        ),
        ("money",),
    ),
    Claim(
        "control-characters",
        "stripping control characters or joining on white space is a safe clean-up",
        Verdict.REFUTED,
        "newlines and tabs are control characters: both delete them",
        "{{ pct('cleaning.still-parses.control characters deleted') }} and "
        "{{ pct('cleaning.still-parses.joined on white space') }} of Python files are still the "
        "same program",
        lambda f: (
            f.value("cleaning.still-parses.control characters deleted") < 0.1
            and f.value("cleaning.newlines-deleted.control characters deleted") == 1
        ),
        ("cleaning",),
    ),
    Claim(
        "end-of-sequence",
        "forbidding EOS, PAD, BOS during sampling",
        Verdict.REFUTED,
        "PAD and BOS may be; EOS must stay allowed",
        "without an end, answers run to the limit: "
        "{{ x('lengths.unending.factor', 1) }} the tokens of Azure's conversations",
        lambda f: (
            f.value("lengths.unending.factor") > 2
            and f.value("generation.mask.ends-forbidden.llama3") == 0
        ),
        ("generation", "lengths"),
    ),
)
"""In the order of the page."""
