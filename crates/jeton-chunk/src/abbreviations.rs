//! Abbreviations after whose full stop a sentence goes on, by language.

/// Words, in lower case and without their last full stop, after which a sentence goes on.
///
/// `*` marks those that go on before a digit only ("no. 5", but "he said no. Then"); `+` marks
/// those that also end sentences: they go on unless a word with a capital follows.
pub(crate) fn of_language(code: &str) -> &'static [&'static str] {
    match code {
        "en" => ENGLISH,
        "de" => GERMAN,
        "fr" => FRENCH,
        "es" => SPANISH,
        "it" => ITALIAN,
        "pt" => PORTUGUESE,
        "nl" => DUTCH,
        "pl" => POLISH,
        "cs" | "sk" => CZECH,
        "sv" => SWEDISH,
        "da" | "no" | "nb" | "nn" => DANISH,
        "fi" => FINNISH,
        "tr" => TURKISH,
        "ru" | "uk" | "bg" => RUSSIAN,
        "el" => GREEK,
        "ro" => ROMANIAN,
        "hu" => HUNGARIAN,
        _ => ANY,
    }
}

/// Languages in which an ordinal ("3. Oktober") stands before words with capitals.
pub(crate) fn has_ordinals(code: &str) -> bool {
    code == "de"
}

const ANY: &[&str] = &[
    "dr", "etc+", "fig*", "mr", "mrs", "ms", "nr*", "no*", "prof", "st", "vol*", "vs",
];

const ENGLISH: &[&str] = &[
    "a.k.a", "a.m+", "adm", "al+", "apr*", "approx", "art*", "asst", "aug*", "ave+", "blvd+",
    "capt", "cf", "ch*", "cmdr", "co+", "col", "corp+", "cpl", "dec*", "dept", "dr", "e.g", "ed",
    "eds", "eq*", "esp", "est", "etc+", "ex*", "feb*", "fig*", "figs*", "gen", "gov", "hon", "i.e",
    "inc+", "jan*", "jr+", "jul*", "jun*", "lt", "ltd+", "maj", "messrs", "mr", "mrs", "ms", "mt",
    "no*", "nos*", "nov*", "oct*", "op*", "p*", "p.m+", "ph.d+", "pp*", "prof", "rep", "rev",
    "resp", "sec*", "sen", "sept*", "sgt", "sr+", "st", "supt", "tel*", "u.s+", "viz", "vol*",
    "vs",
];

const GERMAN: &[&str] = &[
    "abb*", "abs*", "allg", "anm", "art*", "aufl", "bd*", "bspw", "bzgl", "bzw", "ca", "d.h",
    "dipl", "dr", "e.v+", "ebd", "einschl", "etc+", "evtl", "ff+", "fr", "geb", "gem", "ggf", "hl",
    "hr", "hrsg", "i.d.r", "inkl", "insb", "jh+", "kap*", "lt", "max", "mio+", "mind", "mrd+",
    "nr*", "o.ä+", "prof", "rd", "s*", "s.o", "sog", "st", "str+", "tel*", "u.a+", "u.u", "usw+",
    "v.a", "vgl", "z.b", "z.t", "z.zt", "zb", "zit", "zt", "zzgl",
];

const FRENCH: &[&str] = &[
    "art*", "av", "bd", "boul", "c.-à-d", "cf", "chap*", "cie", "dr", "env", "etc+", "ex", "fig*",
    "ibid", "j.-c+", "m", "me", "mgr", "mlle", "mm", "mme", "mmes", "no*", "nos*", "p*", "p.ex",
    "pp*", "pr", "ste", "st", "tél*", "vol*", "vs", "éd",
];

const SPANISH: &[&str] = &[
    "a.c+", "admón", "art*", "arts*", "av", "avda", "c", "cap*", "cía+", "d", "d.c+", "dr", "dra",
    "ed", "ee.uu+", "etc+", "excmo", "fig*", "gral", "ilmo", "lic", "núm*", "p*", "p.ej", "pág*",
    "págs*", "pp*", "prof", "profa", "rev", "sr", "sra", "sres", "srta", "tel*", "ud", "uds",
    "vol*",
];

const ITALIAN: &[&str] = &[
    "arch", "art*", "avv", "c.so", "ca", "cap*", "cfr", "co+", "dott", "dott.ssa", "dr", "ecc+",
    "ed", "egr", "es", "fig*", "geom", "gent", "ing", "n*", "on", "p*", "p.es", "pag*", "pagg*",
    "prof", "prof.ssa", "rag", "s.p.a+", "sig", "sig.na", "sig.ra", "tel*", "vol*",
];

const PORTUGUESE: &[&str] = &[
    "a.c+", "art*", "arts*", "av", "cap*", "cia+", "d", "d.c+", "dr", "dra", "drs", "ed", "eng",
    "etc+", "exmo", "fig*", "gen", "ltda+", "n*", "núm*", "p*", "p.ex", "pág*", "págs*", "pp*",
    "prof", "profa", "rev", "sr", "sra", "srs", "srta", "tel*", "v.exa", "vol*",
];

const DUTCH: &[&str] = &[
    "a.u.b", "afb*", "art*", "b.v+", "bijv", "blz*", "bv", "ca", "d.w.z", "dhr", "dr", "drs",
    "enz+", "etc+", "evt", "excl", "fig*", "hfst*", "i.p.v", "incl", "ing", "ir", "jl", "max",
    "mevr", "min", "mr", "mw", "n.v+", "nr*", "o.a", "prof", "t.o.v",
];

const POLISH: &[&str] = &[
    "al", "art*", "dot", "dr", "gen", "godz*", "hab", "im", "in", "inż", "itd+", "itp+", "jw",
    "kpt", "ks", "lek", "m.in", "mec", "mgr", "min", "mjr", "nr*", "np", "ok", "os", "pkt*", "pl",
    "por", "prof", "płk", "r+", "red", "rys*", "s*", "sp", "str*", "św", "tel*", "tzn", "tzw",
    "ul", "zob",
];

const CZECH: &[&str] = &[
    "apod+", "atd+", "atp+", "bc", "cca", "čís*", "čl*", "doc", "dr", "event", "gen", "hod*",
    "ing", "judr", "kap*", "mgr", "mj", "mudr", "např", "nám", "obr*", "odst*", "phdr", "popř",
    "prof", "př", "resp", "rndr", "stol", "str*", "sv", "tel*", "tj", "tzv",
];

const SWEDISH: &[&str] = &[
    "bl.a", "ca", "d.v.s", "dr", "dvs", "e.d+", "etc+", "ev", "f.d", "f.n", "fig*", "fr.o.m",
    "inkl", "jfr", "kap*", "kl*", "m.fl+", "m.m+", "max", "nr*", "o.s.v+", "osv+", "prof", "s*",
    "s.k", "t.ex", "t.o.m",
];

const DANISH: &[&str] = &[
    "adr", "afd", "bl.a", "ca", "d.v.s", "dr", "dvs", "ekskl", "etc+", "evt", "f.eks", "fhv",
    "fig*", "fr", "hr", "if", "inkl", "jf", "kap*", "kl*", "m.fl+", "m.m+", "maks", "mht", "nr*",
    "osv+", "pga", "prof", "s*", "stk*", "tlf*", "vedr",
];

const FINNISH: &[&str] = &[
    "ao", "ts", "dos", "esim", "eur", "fil", "huom", "jne+", "klo*", "ks", "maist", "mm", "mr",
    "n*", "nk", "nro*", "nyk", "os", "prof", "s*", "tms+", "toim", "tri",
];

const TURKISH: &[&str] = &[
    "alb", "apt", "av", "bk", "bkz", "bul", "cad", "dr", "doç", "ecz", "gen", "hz", "mah", "md",
    "no*", "ort", "örn", "prof", "s*", "sk", "sn", "st", "vb+", "vs+", "yrd",
];

const RUSSIAN: &[&str] = &[
    "акад",
    "англ",
    "гг+",
    "г",
    "гл*",
    "гр",
    "д-р",
    "др+",
    "доц",
    "ден",
    "д",
    "зам",
    "и.о",
    "им",
    "ин",
    "инж",
    "кв*",
    "кг+",
    "корп*",
    "куб",
    "лат",
    "м",
    "млн+",
    "млрд+",
    "напр",
    "нем",
    "обл",
    "оз",
    "пер",
    "пл",
    "пос",
    "проф",
    "просп",
    "прим",
    "р",
    "рис*",
    "рус",
    "с",
    "св",
    "см",
    "ср",
    "ст*",
    "стр*",
    "т.е",
    "т.к",
    "тел*",
    "тов",
    "т.н",
    "тыс+",
    "ул",
    "франц",
    "ч*",
];

const GREEK: &[&str] = &[
    "αρ*", "αι", "βλ", "δηλ", "δρ", "εκ", "καθ", "κ", "κα", "κεφ*", "κλπ+", "κτλ+", "λ.χ", "μ.χ+",
    "π.χ", "σελ*", "τηλ*", "χλμ+",
];

const ROMANIAN: &[&str] = &[
    "alin*", "art*", "bd", "bl*", "cap*", "cca", "dl", "dna", "dr", "dvs", "ed", "etc+", "ex",
    "fig*", "gen", "ing", "lit*", "nr*", "op", "p*", "pag*", "prof", "sf", "str", "tel*", "vol*",
];

const HUNGARIAN: &[&str] = &[
    "dr", "id", "ifj", "ill", "kb", "kft+", "krt", "ld", "max", "min", "mr", "old*", "özv", "pl",
    "prof", "sgt", "stb+", "szt", "tel*", "ti", "u", "ui", "ún", "vö",
];
