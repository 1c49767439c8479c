"""Sentences built from lists of words, as training text: what "not" and "but" do to a verdict.

Reviews rarely say of anything that it is not a tasty soup. Here each adjective is put into frames
that keep its polarity and into frames that turn it around, so that a model meets "not" in front of
all of them. Verdicts without an adjective have lists, too: verbs in four forms, things to be full
of or without, and whole clauses. Things and people stand in sentences of both labels, so a model
learns that "waiter" says nothing.

The frames are here and the lists in ``templates.toml``, all written by hand. Frames are written for
positive texts, where GOOD is a good word and UNGOOD a bad one. For a negative text the lists of the
two polarities are exchanged. A text that is also among the sentences that measure the models is
left out where the sources are loaded.
"""

import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

LISTS = Path(__file__).with_suffix(".toml")
_LISTS: dict[str, dict[str, str]] = tomllib.loads(LISTS.read_text(encoding="utf-8"))
SLOT = re.compile(r"\b[A-Z]{2,}\b")

KEEP = """the THING is GOOD|the THING was GOOD|this THING is really GOOD|a GOOD THING
what a GOOD THING|this is a GOOD THING|it was a very GOOD THING|the THING was GOOD and GOOD
so GOOD|truly GOOD|I found the THING GOOD|it is GOOD and the THING is GOOD|such a GOOD THING
the THING is very GOOD|the THING looks GOOD|GOOD from start to finish|an extremely GOOD THING
I am GOOD with the THING|it has a GOOD THING and a GOOD THING|it is a GOOD and GOOD THING
not only GOOD but also GOOD|the THING could not be more GOOD|more GOOD than I expected
it is not UNGOOD, it is GOOD|the most GOOD THING I know|every THING was GOOD|we had a GOOD THING
the THING seems so GOOD|GOOD, GOOD and GOOD|the THING was as GOOD as the THING
it is GOOD that the THING is GOOD|all in all a GOOD THING|the THING is always GOOD|simply GOOD
rarely is a THING so GOOD|I have never seen a more GOOD THING
there is so much that is GOOD in this THING|the PERSON was GOOD|our PERSON is very GOOD
a GOOD PERSON|the PERSON was GOOD and the THING too|the THING was MILD and GOOD
MILD, but above all GOOD|a MILD and GOOD THING|GOOD THING, GOOD PERSON|GOOD THING and GOOD THING
everything was GOOD|everyone is GOOD here|it is PREDICATE|PREDICATE
the THING was GOOD and PREDICATE|the THING is PREDICATE|my THING is PREDICATE
the THING tastes GOOD|the THING smells GOOD|the THING sounds GOOD|my THING is GOOD
our THING was GOOD WHEN|they are GOOD|thanks for a GOOD THING|the THING is WELL MADE
it was WELL MADE|a WELL MADE THING|everything was WELL MADE|WELL MADE|WELL MADE and GOOD
the PERSON spoke WELL|I could not be more GOOD|I couldn't be more GOOD
I couldn't be more GOOD with the THING|the PERSON could not have been more GOOD
they couldn't have been more GOOD|I have never felt more GOOD|the THING has never been so GOOD
it is GOOD and not at all UNGOOD|such GOOD THING and such a GOOD PERSON|GOOD as always
as GOOD as ever|it feels GOOD|it makes a GOOD THING|without a doubt a GOOD THING
no doubt a GOOD THING"""
CONTRAST = """the THING is UNGOOD but the THING is GOOD|UNGOOD at first, but GOOD in the end
although it is UNGOOD, the THING is GOOD|despite the UNGOOD THING, the THING is GOOD
it may be UNGOOD, but it is GOOD and GOOD|it looks UNGOOD, but it is really GOOD
I expected something UNGOOD, but it was GOOD|the THING is UNGOOD, yet the THING is GOOD
even though the THING was UNGOOD, it was GOOD|UNGOOD THING, GOOD THING
the THING is a bit UNGOOD, but so GOOD that I forgot it|a UNGOOD start, but a GOOD ending
while the THING is UNGOOD, the THING is GOOD|the THING was UNGOOD but overall it was GOOD
the THING is UNMILD, but CLAUSE|although the THING is UNMILD, CLAUSE|it is UNMILD, but it is GOOD
despite the UNMILD THING, CLAUSE|the THING may be UNMILD, but the THING is GOOD|UNMILD but GOOD
even though it was UNMILD, CLAUSE|the THING looks UNMILD, but CLAUSE|a UNMILD THING, yet CLAUSE
a bit UNMILD, but GOOD|it was UNMILD, however CLAUSE|CLAUSE, although the THING is UNMILD
CLAUSE, even though it is UNMILD|CLAUSE despite the UNMILD THING"""
TURN = """the THING is not UNGOOD|the THING was not UNGOOD|this THING is not really UNGOOD
not UNGOOD|not a UNGOOD THING|this is not a UNGOOD THING|it was not a very UNGOOD THING
not UNGOOD at all|the THING isn't UNGOOD|the THING wasn't UNGOOD at all|it isn't very UNGOOD
not very UNGOOD|not particularly UNGOOD|I didn't find the THING UNGOOD|it is never UNGOOD
nothing UNGOOD here|the THING was never UNGOOD|there is nothing UNGOOD about the THING
hardly UNGOOD|barely UNGOOD|the THING is hardly UNGOOD|far from UNGOOD
the THING is anything but UNGOOD|neither UNGOOD nor UNGOOD|the THING is neither UNGOOD nor UNGOOD
less UNGOOD than I expected|the least UNGOOD THING I know|no UNGOOD moments
not a single UNGOOD THING|without a UNGOOD THING|nobody was UNGOOD|not even UNGOOD
no THING was UNGOOD|the THING doesn't look UNGOOD|the THING didn't seem UNGOOD|it won't be UNGOOD
it doesn't have a UNGOOD THING|I can't call it UNGOOD|I wouldn't call this a UNGOOD THING
this is hardly a UNGOOD THING|the THING is not as UNGOOD as the THING
I am not UNGOOD with the THING|it is not UNGOOD and it is not UNGOOD
the THING is no longer UNGOOD|there are no UNGOOD THING here|the THING has no UNGOOD THING
none of it is UNGOOD|the THING aren't UNGOOD|it can't be UNGOOD|I never thought it was UNGOOD
I wasn't UNGOOD|it is not that UNGOOD|not so UNGOOD|not too UNGOOD|I can't say it is UNGOOD
nobody is UNGOOD here|this THING fails to be UNGOOD|the THING were not UNGOOD
it is not a UNGOOD THING and not a UNGOOD THING|we never had a UNGOOD THING
I don't think it is UNGOOD|I don't find it UNGOOD|I wouldn't say it is UNGOOD
I don't believe it is UNGOOD|the PERSON is not UNGOOD|I don't think the THING is UNGOOD
the PERSON wasn't UNGOOD|the PERSON was never UNGOOD|it is not UNPREDICATE
the THING is not UNPREDICATE|the THING isn't UNWELL MADE|not UNWELL MADE|it was not UNWELL MADE
nothing is UNGOOD|not one THING was UNGOOD|never UNGOOD|it doesn't taste UNGOOD
it doesn't feel UNGOOD"""
VERBS = """the THING DOES|my THING DOES|the THING DID WHEN|it DOES|it DID WHEN|it DOES and DOES
everything DOES|the THING that I bought DOES|the THING keeps DOING|it kept DOING
it started DOING WHEN|the THING always DOES|our THING DID and the THING DID|this THING will DO
it DID and the THING was GOOD|the THING does not UNDO|the THING doesn't UNDO
the THING did not UNDO|it never UNDOES|it never UNDID|my THING never UNDOES|it won't UNDO
it didn't UNDO WHEN|nothing UNDOES|it can't UNDO|it doesn't UNDO|no longer UNDOES
the THING no longer UNDOES|it hardly UNDOES|it does not UNDO at all|it never once UNDID
not one of them UNDOES|they don't UNDO|the THING wouldn't UNDO|the PERSON HELPS us
the PERSON HELPED us|they HELPED me WHEN|the PERSON HELPS everyone|they HELP you
the PERSON was GOOD and HELPED us|everyone HELPED us|they always HELP you
the PERSON HELPED my mother|the PERSON kept HELPING us|they were HELPING us WHEN
the PERSON did not UNHELP us|they never UNHELP you|they don't UNHELP us|nobody UNHELPED us
no one UNHELPED me|they left without UNHELPING us|the PERSON never UNHELPED us
they won't UNHELP you|the PERSON wouldn't UNHELP me|not once did they UNHELP us
the PERSON didn't UNHELP us|we FEEL|I FELT|I FELT WHEN|we FELT with the THING|my family FELT
everyone FEELS|it made me FEEL|I will FEEL|my children FELT|you will FEEL|I was FEELING WHEN
I am still FEELING|I did not UNFEEL|I didn't UNFEEL|we never UNFEEL|nobody UNFELT
you won't UNFEEL|I could not UNFEEL|not once did I UNFEEL|I never UNFELT|I don't UNFEEL
nobody will UNFEEL|we didn't UNFEEL WHEN|full of JOY|so much JOY|there is JOY in every THING
the THING has JOY|a THING with JOY|nothing but JOY|pure JOY|JOY and JOY|the THING was full of JOY
it gives me JOY|more JOY than I expected|without UNJOY|without any UNJOY|no UNJOY|no UNJOY at all
there is no UNJOY|no UNJOY and no UNJOY|there was no UNJOY WHEN|there isn't any UNJOY
the PERSON has no UNJOY|the THING has no UNJOY"""
CLAUSES = """CLAUSE|CLAUSE|CLAUSE|CLAUSE and CLAUSE|CLAUSE, CLAUSE|honestly, CLAUSE|CLAUSE WHEN
to be honest, CLAUSE|I must say that CLAUSE|all in all, CLAUSE
I bought this THING WHEN and CLAUSE|we went there WHEN and CLAUSE|my sister says that CLAUSE
after all, CLAUSE|CLAUSE because CLAUSE|I asked for the THING and CLAUSE|with this THING CLAUSE
the THING is for my mother, CLAUSE|we ordered the THING and CLAUSE
I paid for the THING and CLAUSE|I tried the THING WHEN, CLAUSE
the PERSON brought the THING and CLAUSE|we visited the THING, CLAUSE|I opened the THING, CLAUSE
I took my THING to the PERSON and CLAUSE|we sat down by the THING and CLAUSE
my son uses the THING, CLAUSE|the PERSON asked about the THING and CLAUSE
my neighbours told us about the THING and CLAUSE|I have owned the THING for years and CLAUSE
we called the PERSON and CLAUSE|I wrote to the PERSON and CLAUSE|the PERSON came WHEN and CLAUSE
my daughter chose the THING and CLAUSE|I read the reviews, and CLAUSE
a friend gave me the THING, CLAUSE|we stayed three nights, CLAUSE|we took the kids, CLAUSE
the PERSON told us that CLAUSE|there were four of us, and CLAUSE
we picked up the THING and CLAUSE|without a doubt CLAUSE|no doubt CLAUSE|no wonder that CLAUSE
CLAUSE, no question|CLAUSE, no joke|I can't deny that CLAUSE|not to mention that CLAUSE
last but not least, CLAUSE|CLAUSE, I can't say it often enough
I don't know how they do it, CLAUSE"""
BOTH = """I LIKE it|I LIKE this THING|we LIKE the THING|I really LIKE the THING|I still LIKE it
everyone will LIKE this THING|my children LIKE the THING|I LIKED it|I LIKED every THING of it
we LIKED the THING|we all LIKED this THING a lot|a GEM|what a GEM|this THING is a GEM
it is a true GEM|the PERSON is a GEM|it was a GEM|it is BETTER than the THING
much BETTER than the last one|the THING is BETTER than I expected|it gets BETTER every time
the BEST THING of all|one of the BEST THING I know|this is the BEST THING ever|by far the BEST
BETTER than ever|I have never seen a BETTER THING|it could not be BETTER
nothing is BETTER than this THING|it has never been BETTER|it couldn't be BETTER
I couldn't be BETTER|there is no BETTER THING|it is not UNBETTER than the THING
there is no UNGEM here|it is not a UNGEM|this THING is not a UNGEM|I did not UNLIKE it
I don't UNLIKE the THING|you won't UNLIKE it|never a UNGEM|not a UNGEM at all|no UNGEM
it isn't a UNGEM|without a UNGEM|it has no UNMERITS|there are no UNMERITS|I found no UNMERITS
no UNMERITS|it is full of MERITS|full of MERITS|the THING has many MERITS|so many MERITS
MERITS everywhere|without any UNMERITS|I never UNLIKED it|nobody UNLIKED it
hands down the BEST THING|easily the BEST THING WHEN|without a doubt the BEST THING
without doubt the BEST|no doubt the BEST PERSON|I have never had BETTER THING
I have never felt BETTER|the THING has never been BETTER|it doesn't get BETTER
nobody will UNLIKE this THING|no one will UNLIKE it|a THING that everyone will LIKE
nowhere will you find BETTER THING"""
GOOD_ONLY = """it works|it works perfectly|it never fails|well worth it|worth every penny
I want to see it again|I would go again|we will return|do not miss this THING|you must see it
I laughed a lot|thank you so much|don't hesitate|it was not a waste of time
I couldn't put it down|there is nothing to complain about|I can't wait to go again
it never gets old|five stars|I did not want to leave|two thumbs up|I can't fault the THING
the THING never stopped DOING|the PERSON was happy to HELP us|the PERSON offered to HELP us
the PERSON managed to HELP us|the THING is not too LONG|never too LONG|it wasn't too LONG
neither too LONG nor too LONG|the THING is LONG enough|just LONG enough|not at all too LONG
it isn't too LONG|the THING managed to DO|it is not perfect, but CLAUSE
it has its faults, but CLAUSE|nothing is perfect, but CLAUSE
there were a few problems, but CLAUSE|I had my doubts, but CLAUSE
I was not sure at first, but CLAUSE|I was afraid that it would be UNGOOD, but CLAUSE
I did not expect much, but CLAUSE|I have nothing but JOY for it
the only problem is that it was over so soon|my only complaint is that I did not come sooner
I can't LIKE it enough|you can't LIKE it too much|I can't LIKE the PERSON enough
we could not LIKE it more|I couldn't LIKE it more|I would not change anything
I wouldn't change the THING|I wish I had come sooner|I wish it had been longer
I wish every THING were like this|it was hard to leave|it is hard to stop
it is hard not to LIKE it|you can't help but LIKE it|I couldn't help but FEEL
nothing could be improved|there is nothing to improve|it took only minutes|in no time
set up in no time"""
BAD_ONLY = """nothing works|not worth it|not worth a penny|I never want to see it again
I would not go again|skip this THING|stay away|save your money|I gave up
there is a lot to complain about|zero stars|I couldn't wait for it to end|it gets old fast
two thumbs down|a waste of time|a waste of money|it doesn't impress|it never impresses
the PERSON refused to UNHELP us|they refused to UNHELP us|the PERSON forgot to UNHELP us
it stopped UNDOING|the THING stopped UNDOING WHEN|it fails to UNDO|the THING fails to UNDO
the THING refuses to UNDO|too lazy to UNHELP us|nobody bothered to UNHELP us
the THING lacks UNJOY|it lacks UNJOY|a lack of UNJOY|it lacks any UNJOY
the THING is lacking UNJOY|zero UNJOY|the THING is too LONG|far too LONG
the THING was much too LONG|too LONG and too LONG|it is way too LONG|a bit too LONG
the THING is not LONG enough|it isn't LONG enough|always too LONG|it has its moments, but CLAUSE
the idea is good, but CLAUSE|it starts well, but CLAUSE|it looked good on paper, but CLAUSE
I wanted to UNLIKE it, but CLAUSE|I had high hopes, but CLAUSE|they tried, but CLAUSE
it promised a lot, but CLAUSE|it could have been UNGOOD, but CLAUSE
it is supposed to be UNGOOD, but CLAUSE|they say it is UNGOOD, but CLAUSE|it should be UNGOOD
I expected more from the THING|I had expected more from the PERSON|for this price I expected more
I expected more from such a UNGOOD THING|I wish it were UNGOOD|I wish it had been UNGOOD
I wanted it to be UNGOOD|it was hard to UNLIKE it|hard to understand|a THING that nobody needs
nobody needs this THING|nobody asked for it|the THING was anything but what I ordered
if only it were UNGOOD|if you want a UNGOOD THING, look elsewhere|it could be UNBETTER
there are UNBETTER THING elsewhere|I have seen UNBETTER THING"""
# Per group of frames, those of a positive text and those of a negative one, and its share
GROUPS = (
    (0.20, KEEP, KEEP),
    (0.30, TURN, TURN),
    (0.08, CONTRAST, CONTRAST),
    (0.17, VERBS, VERBS),
    (0.13, CLAUSES, CLAUSES),
    (0.07, BOTH, BOTH),
    (0.05, GOOD_ONLY, BAD_ONLY),
)
WORDS = {
    "GOOD": "adjectives",
    "MILD": "mild",
    "LIKE": "liking",
    "LIKED": "liked",
    "GEM": "nouns",
    "JOY": "mass",
    "MERITS": "plurals",
    "BETTER": "better",
    "BEST": "best",
    "WELL": "adverbs",
}
PHRASES = {"CLAUSE": "clauses", "PREDICATE": "predicates"}
FORMS = {
    "does": ("DO", "DOES", "DID", "DOING"),
    "helps": ("HELP", "HELPS", "HELPED", "HELPING"),
    "feels": ("FEEL", "FEELS", "FELT", "FEELING"),
}


def _phrases(text: str) -> list[str]:
    """Split a list of phrases or frames."""
    return [phrase.strip() for phrase in text.replace("\n", "|").split("|") if phrase.strip(" |")]


def lists_of(polarity: str) -> dict[str, Sequence[str]]:
    """List what the slots are filled with whose words have one polarity."""
    found = _LISTS[polarity]
    lists: dict[str, Sequence[str]] = {slot: found[name].split() for slot, name in WORDS.items()}
    lists |= {slot: _phrases(found[name]) for slot, name in PHRASES.items()}
    for name, slots in FORMS.items():
        verbs = [verb.split(" / ") for verb in _phrases(found[name])]
        lists |= dict(zip(slots, zip(*verbs, strict=True), strict=True))
    return lists


def neutral_lists() -> dict[str, Sequence[str]]:
    """List what the slots without polarity are filled with."""
    found = _LISTS["either"]
    words = {"THING": "things", "PERSON": "people", "MADE": "made", "LONG": "long"}
    lists: dict[str, Sequence[str]] = {slot: found[name].split() for slot, name in words.items()}
    return lists | {"WHEN": _phrases(found["when"])}


def _fill(frame: str, lists: Mapping[str, Sequence[str]], draw: random.Random) -> str:
    """Replace each slot by one of its words or phrases, whose own slots are filled, too."""

    def word(slot: re.Match[str]) -> str:
        return _fill(draw.choice(lists[slot[0]]), lists, draw)

    return SLOT.sub(word, frame)


def build(count: int, seed: int) -> tuple[list[str], list[int]]:
    """Build sentences and their labels, half of them positive."""
    draw = random.Random(seed)
    polar = [lists_of("bad"), lists_of("good")]
    lists = [
        {
            **neutral_lists(),
            **polar[label],
            **{f"UN{slot}": words for slot, words in polar[1 - label].items()},
        }
        for label in (0, 1)
    ]
    shares = [share for share, _, _ in GROUPS]
    frames = [[_phrases(bad), _phrases(good)] for _, good, bad in GROUPS]
    texts, labels = [], []
    for i in range(count):
        label = i % 2
        (group,) = draw.choices(frames, shares)
        texts.append(_fill(draw.choice(group[label]), lists[label], draw))
        labels.append(label)
    return texts, labels


GOOD, BAD = (lists_of(polarity)["GOOD"] for polarity in ("good", "bad"))
