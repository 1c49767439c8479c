"""Sentences built from lists of words, as training text: what "not" and "but" do to a verdict.

Reviews rarely say of anything that it is not a tasty soup. Here each adjective is put into frames
that keep its polarity and into frames that turn it around, so that a model meets "not" in front of
all of them. The lists and frames are written by hand, and none of the sentences that measure the
models is built from them.
"""

import random
from collections.abc import Sequence

GOOD = (
    "good great excellent wonderful brilliant superb fantastic amazing beautiful lovely charming "
    "funny clever fresh original exciting thrilling gripping touching moving interesting fun "
    "entertaining enjoyable impressive perfect delightful hilarious witty intelligent smart "
    "memorable convincing powerful stunning gorgeous honest warm kind friendly helpful polite "
    "patient clean comfortable cosy cozy quiet delicious tasty fresh crisp juicy yummy generous "
    "reliable sturdy durable handy useful fast quick prompt safe healthy elegant stylish pretty "
    "pleasant nice fine satisfying rewarding remarkable outstanding magnificent marvelous "
    "marvellous terrific fabulous awesome incredible splendid captivating compelling fascinating "
    "engaging inspiring uplifting refreshing imaginative creative subtle rich vivid graceful "
    "heartwarming lively cheerful talented skilled professional attentive competent efficient "
    "affordable smooth bright happy pleased satisfied delighted glad grateful worthwhile valuable "
    "special superior flawless sweet adorable hearty welcoming spotless peaceful relaxing clear "
    "easy accurate believable credible suspenseful masterful likeable likable sincere thoughtful"
).split()
BAD = (
    "bad terrible awful horrible dreadful boring dull tedious stupid silly predictable lame weak "
    "poor ugly annoying irritating painful pointless lifeless bland stale cold rude unfriendly "
    "dirty filthy noisy loud uncomfortable broken useless worthless faulty defective unreliable "
    "flimsy slow late overpriced expensive tasteless burnt greasy soggy disgusting nasty gross "
    "rotten smelly sticky confusing messy clumsy sloppy lazy careless unhelpful impatient "
    "incompetent dishonest unprofessional disappointing frustrating ridiculous laughable "
    "forgettable mediocre shallow empty hollow flat wooden cheap dumb idiotic pathetic miserable "
    "depressing tiresome tired exhausting unfunny unconvincing unwatchable unbearable unbelievable "
    "uninteresting uninspired unoriginal unpleasant unhappy disappointed dissatisfied angry bored "
    "annoyed upset sad sorry inferior offensive insulting vulgar cruel hateful appalling atrocious "
    "abysmal lousy crappy inept incoherent pretentious contrived trite corny cheesy repetitive "
    "monotonous dry bitter sour raw undercooked overcooked cramped dark dangerous unsafe fragile "
    "difficult complicated unclear inaccurate unfair wrong ruined wasted spoiled"
).split()
GOOD_VERBS = "love like enjoy adore admire recommend appreciate praise trust treasure".split()
GOOD_PAST = "loved liked enjoyed adored admired recommended appreciated praised treasured".split()
BAD_VERBS = "hate dislike regret detest despise loathe avoid disappoint bore annoy offend".split()
BAD_PAST = "hated disliked regretted detested despised loathed avoided endured suffered".split()
GOOD_NOUNS = (
    "masterpiece delight joy treat triumph success gem classic pleasure winner surprise bargain "
    "miracle marvel blessing highlight favourite favorite hit"
).split()
BAD_NOUNS = (
    "mess disaster failure bore waste disappointment letdown nightmare joke insult flop chore "
    "catastrophe shame embarrassment mistake torture travesty scam ripoff"
).split()
BAD_THINGS = (
    "flaws faults errors mistakes problems weaknesses complaints issues defects regrets delays"
).split()
GOOD_THINGS = "strengths merits virtues surprises thrills laughs ideas qualities charms".split()
BETTER = "better funnier nicer smarter stronger richer fresher cleaner faster kinder".split()
WORSE = "worse duller weaker uglier poorer slower dirtier dumber sillier ruder".split()
BEST = "best finest funniest greatest nicest loveliest smartest cleanest freshest".split()
WORST = "worst dullest ugliest poorest weakest dumbest dirtiest lamest silliest".split()
THINGS = (
    "film movie story plot script acting cast music soundtrack ending scene dialogue direction "
    "show picture comedy drama documentary book song concert game food meal dinner soup pizza "
    "coffee cake bread service waiter staff restaurant hotel room bed breakfast phone laptop "
    "battery camera screen shoes jacket chair machine product delivery driver flight train trip "
    "tour guide teacher course lesson doctor shop museum park day evening holiday"
).split()

# In each frame, A and B are adjectives of one polarity, C and D of the other; N and M are things.
KEEP = """the N is A|the N was A|this N is really A|a A N|what a A N|this is a A N|it was a very A N
the N was A and B|so A|I found the N A|it is A and the M is B|such a A N|truly A|the N is very A
the N looks A|A from start to finish|an extremely A N|it has a A N and a B M|I am A with the N
it is a A and B N|not only A but also B|the N could not be more A|more A than I expected
it is not C, it is A|the most A N I know|every M was A|we had a A N|the N seems so A|A, B and A
the N was as A as the M|it is A that the M is B|all in all a A N|the N is always A|simply A
I have never seen a more A N|rarely is a N so A|there is so much that is A in this N
the N is C but the M is A|C at first, but A in the end|although it is C, the N is A
despite the C M, the N is A|it may be C, but it is A and B|it looks C, but it is really A
I expected something C, but it was A|the M is C, yet the N is A|even though the M was C, it was A
the N is a bit C, but so A that I forgot it|a C start, but a A ending|C M, A N
while the M is C, the N is A|the N was C but overall it was A"""
TURN = """the N is not A|the N was not A|this N is not really A|not a A N|this is not a A N
it was not a very A N|the N isn't A|the N wasn't A at all|it isn't very A|not A|not A at all
not very A|not particularly A|I don't think the N is A|I didn't find the N A|it is never A
the N was never A|there is nothing A about the N|nothing A here|hardly A|the N is hardly A
far from A|the N is anything but A|the N is neither A nor B|less A than I expected
the least A N I know|no A moments|not a single A M|without a A M|nobody was A|no M was A
the N doesn't look A|the N didn't seem A|it doesn't have a A N|I can't call it A
I wouldn't call this a A N|this is hardly a A N|the N is not as A as the M
I am not A with the N|it is not A and it is not B|the N is no longer A|there are no A N here
the N has no A M|none of it is A|neither A nor B|the N aren't A|it won't be A|it can't be A
I never thought it was A|I wasn't A|not even A|it is not that A|barely A|not so A|not too A
I can't say it is A|I wouldn't say the N is A|I don't think you will find it A|nobody is A here
this N fails to be A|it is not a A N and not a B M|we never had a A N|the N were not A"""
GOOD_MORE = """I V it|I V this N|we V the N|I really V the N|everyone will V this N|I still V it
I P it|I P every M of it|we P the N|we all P this N a lot|a S|what a S|this N is a S|it is a true S
it is E than the M|the N is E than I expected|much E than the last one|it gets E every time
the T N of all|one of the T N I know|this is the T N ever|by far the T
it works|it works perfectly|it never fails
well worth it|worth every penny|I want to see it again
I would go again|we will return|do not miss this N|you must see it|I laughed a lot|thank you so much
I have never seen a E N|it could not be E|nothing is E than this N|it has never been E
don't hesitate|it was not a waste of time|I couldn't put it down|there is nothing to complain about
I can't wait to go again|it never gets old|five stars|I did not want to leave|two thumbs up
I can't fault the N|there is no X here|it is not a X|this N is not a X|I did not Z it
I don't Z the N|you won't Z it|never a X
not a X at all|no X|it isn't a X|without a X
it has no Y|there are no Y|I found no Y|no Y|it is full of U|full of U|the N has many U|so many U"""
BAD_MORE = """I V it|I V this N|we V the N|I really V the N|everyone will V this N|I still V it
I P it|I P every M of it|we P the N|we all P this N a lot|a S|what a S|this N is a S|it is a true S
it is E than the M|the N is E than I expected|much E than the last one|it gets E every time
the T N of all|one of the T N I know|this is the T N ever|by far the T
nothing works
not worth it|not worth a penny|I never want to see it again
I would not go again|skip this N|stay away
I have never seen a E N|it could not be E|nothing is E than this N|it has never been E
save your money|I gave up|there is a lot to complain about
I couldn't wait for it to end|it gets old fast|zero stars|two thumbs down
a waste of time|a waste of money|there is no X here|it is not a X|this N is not a X|I did not Z it
I don't Z the N|you won't Z it|it doesn't impress|never a X
not a X at all|it never impresses|no X|it isn't a X|without a X
it has no Y|there are no Y|I found no Y|no Y|it is full of U|full of U|the N has many U|so many U"""


def _frames(text: str) -> list[list[str]]:
    """Split frames into words, so that the capital letters are found."""
    return [frame.split() for frame in text.replace("\n", "|").split("|")]


def _fill(frame: Sequence[str], words: dict[str, Sequence[str]], draw: random.Random) -> str:
    """Replace each capital letter that has words by one of them, whatever punctuation follows."""
    found = []
    for word in frame:
        letter, rest = word.rstrip(","), word[len(word.rstrip(",")) :]
        found.append(draw.choice(words[letter]) + rest if letter in words else word)
    return " ".join(found)


def build(count: int, seed: int) -> tuple[list[str], list[int]]:
    """Build sentences and their labels, half of them positive."""
    draw = random.Random(seed)
    keep, turn, more = _frames(KEEP), _frames(TURN), [_frames(BAD_MORE), _frames(GOOD_MORE)]
    adjectives = [BAD, GOOD]
    verbs, past = [BAD_VERBS[:7], GOOD_VERBS], [BAD_PAST, GOOD_PAST]
    nouns, comparatives, superlatives = [BAD_NOUNS, GOOD_NOUNS], [WORSE, BETTER], [WORST, BEST]
    plurals = [BAD_THINGS, GOOD_THINGS]
    texts, labels = [], []
    for i in range(count):
        label = i % 2
        kind = draw.random()
        things = {"N": THINGS, "M": THINGS}
        if kind < 0.35:
            same, other = adjectives[label], adjectives[1 - label]
            words = {"A": same, "B": same, "C": other, "D": other} | things
            texts.append(_fill(draw.choice(keep), words, draw))
        elif kind < 0.75:
            turned = adjectives[1 - label]
            texts.append(_fill(draw.choice(turn), {"A": turned, "B": turned} | things, draw))
        else:
            words = {
                "V": verbs[label],
                "P": past[label],
                "S": nouns[label],
                "E": comparatives[label],
                "T": superlatives[label],
                "X": nouns[1 - label],
                "Z": verbs[1 - label],
                "U": plurals[label],
                "Y": plurals[1 - label],
            }
            texts.append(_fill(draw.choice(more[label]), words | things, draw))
        labels.append(label)
    return texts, labels
