"""What cells and headers mean: numbers, places ("2nd", "1. Wahl", "Choice 3"), and the ways to leave a cell empty."""

import re

# Python's float() also takes "1_0", "infinity" and digits of any script.
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
MISSING = frozenset(
    "na n/a nan #n/a #null! null none - -- \N{EN DASH} \N{EM DASH} . ? nil".split()
    + ["not ranked", "unranked", "no rank", "not applicable", "no answer", "no opinion", "don't know", "skipped"]
    + ["keine angabe", "k. a.", "k.a.", "nicht gewählt", "weiß nicht", "sans réponse", "sin respuesta"]
)
ORDINALS = (
    ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    ("erst", "zweit", "dritt", "viert", "fünft", "sechst", "siebt", "acht", "neunt", "zehnt"),
)
_WORD = r"choice|rank|place|position|pref(?:erence)?|priority|pick|wahl|rang|platz|priorität|choix|preferencia|opción"
_AFTER = rf"(?:[ _.-]*(?:{_WORD}))?"
PLACES = (
    re.compile(rf"#? ?([0-9]+) ?(?:st|nd|rd|th|er|ère|ème|º|ª|\.){_AFTER}", re.IGNORECASE),
    re.compile(rf"([0-9]+)[ _.-]*(?:{_WORD})", re.IGNORECASE),
    re.compile(rf"(?:my )?(?:{_WORD})[ _.:#-]*([0-9]+)(?:[ _.:-]*(?:{_WORD}))?", re.IGNORECASE),
    re.compile(r"([0-9]+) ?\([^0-9]*\)"),  # 1 (best)
    re.compile(r"([0-9]+)(?: [\N{EN DASH}-] |: | ?= ?)[^\W\d].*"),  # 1 - most preferred
)
_ORDINAL = [
    re.compile(rf"(?:my )?({'|'.join(ORDINALS[0])})(?:[ _.-]+\w+)?", re.IGNORECASE),
    re.compile(rf"(?:meine )?({'|'.join(ORDINALS[1])})e?[rs]?(?:[ _.-]+\w+)?", re.IGNORECASE),
]


def is_number(text):
    """Whether a cell is a decimal number."""
    return NUMBER.fullmatch(text) is not None


def is_missing(text):
    """Whether a cell says that there is nothing in it."""
    return not text or text.lower() in MISSING


def place_of(text):
    """The place that a text names, from 1, or None: "2nd", "second choice", "Rank 2", "2. Wahl", "2 (good)"."""
    for pattern in PLACES:
        if match := pattern.fullmatch(text):
            return int(match[1]) if len(match[1]) < 10 else None
    for pattern, words in zip(_ORDINAL, ORDINALS, strict=True):
        if match := pattern.fullmatch(text):
            return words.index(match[1].lower()) + 1
    return None


# ---------------------------------------------------------------- names of columns that are seldom items
ID = re.compile(
    r"#|no\.?|nr\.?|row|index|uuid|guid|.*\bid|.*_id|id[ _.-].*|.*respondent.*|.*participant.*|voter([ _].*)?|"
    r"user([ _].*)?|person|case|subject|worker.*|(e-?)?mail.*|name|token|seed|code|.*kennung|.*nummer|responseid|"
    r"record(ed|id|no).*|ip ?address",
    re.IGNORECASE,
)
ABOUT = re.compile(
    r"age|.*\bage|age .*|alter|sex|gender|geschlecht|.*date.*|.*time.*|.*zeit.*|.*dat[eu]m.*|"
    r"start.*|end(ed)?([ _].*)?|duration.*|"
    r"year|jahr|month|birth.*|region|state|country|city|zip.*|plz|district|party|education|income|status|progress|"
    r"finished|lang(uage)?|.*language|device|browser|comments?|remarks?|score|points|latitude|longitude|lat|lon",
    re.IGNORECASE,
)
COUNT = re.compile(
    r"n|counts?|freq(uency)?|n[ _]?votes|votes|ballots|n[ _]?voters|times|anzahl|häufigkeit", re.IGNORECASE
)
WEIGHT = re.compile(r".*weight.*|w|wt|wgt|.*gewicht.*|pond[ée]r.*", re.IGNORECASE)
