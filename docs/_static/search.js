"use strict";

// What the search page finds first. Sphinx's own script asks for pages that hold all words of the
// query, gives each the score of its best word, and orders ties by the alphabet. Here a word counts
// by where it stands and how rare it is, words such as "how does" don't count, a page with some of
// the words is found, too, and pages of one score come in the order in which they are read.

{
  // How much a word counts, by where it stands.
  const TITLE = 10;
  const ENTRY = 9; // the words that a lesson's header gives to the search
  const DESCRIPTION = 4;
  const HEADING = 3;
  const TEXT = 1;
  // And where all of a term, a heading or a name is searched for.
  const TERM = 14;
  const SECTION = 8;
  const NAME = 12;
  // A beginner of the word, as "mask" of "masking", counts less.
  const BEGINNING = 0.5;
  // How much a kind of page counts, by where it lies.
  const KINDS = { "gallery/": 1.2, "api/": 0.7, "exercises/": 0.6 };
  const SHOWN = 20;
  const LESS = new Set(
    "a about an and are as at by can do does for from get how i in is it make me my of on or own should show so that the then this to use using want was we what when where which who why will with work works you your".split(
      " ",
    ),
  );
  const stemmer = new Stemmer();
  const wordsOf = (text) => splitQuery(text.toLowerCase());
  const stemsOf = (text) => wordsOf(text).map((word) => stemmer.stemWord(word));
  const listed = (files) => (Array.isArray(files) ? files : [files]);

  class Finder {
    // `descriptions` holds, in the order of reading, each page's name and what it says of itself;
    // `phrases` holds, page by page, how people ask for what a section answers.
    constructor(index, descriptions, phrases) {
      this.index = index;
      this.phrases = phrases;
      this.order = new Map(Object.keys(descriptions).map((name, i) => [name, i]));
      this.descriptions = descriptions;
      this.weights = new Map(); // stem → page → how much it counts there
      this.spellings = new Set(); // words as they are written, for suggestions
      this.labels = []; // places within pages: terms, headings, names
      this.questions = []; // sections with all the words by which people ask for them
      this.read();
    }

    read() {
      const { docnames, titles, terms, titleterms, alltitles, indexentries, objects } = this.index;
      for (const [stem, files] of Object.entries(terms)) this.count([stem], listed(files), TEXT);
      for (const [stem, files] of Object.entries(titleterms)) {
        this.count([stem], listed(files), HEADING);
      }
      titles.forEach((title, page) => {
        this.count(stemsOf(title), [page], TITLE);
      });
      docnames.forEach((name, page) => {
        this.count(stemsOf(this.descriptions[name] ?? ""), [page], DESCRIPTION);
      });
      for (const [title, places] of Object.entries(alltitles)) {
        this.spell(title);
        for (const [page, anchor] of places) {
          if (!anchor) continue;
          this.label(title, page, anchor, SECTION, titles[page]);
          const asked = this.phrases[docnames[page]]?.[anchor] ?? [];
          for (const phrase of asked) {
            this.spell(phrase);
            this.label(title, page, anchor, SECTION, titles[page], phrase);
          }
          if (!asked.length) continue;
          const stems = new Set(stemsOf([title, ...asked].join(" ")));
          this.questions.push({ text: title, stems, page, anchor, from: titles[page] });
        }
      }
      for (const [entry, places] of Object.entries(indexentries)) {
        for (const [page, anchor, isMain] of places) {
          if (!isMain) continue;
          this.spell(entry);
          if (docnames[page] === "glossary") this.label(entry, page, anchor, TERM, titles[page]);
          else this.count(stemsOf(entry), [page], ENTRY);
        }
      }
      for (const [prefix, members] of Object.entries(objects)) {
        for (const [page, , , anchor, name] of members) {
          const full = prefix ? `${prefix}.${name}` : name;
          const at = anchor && anchor !== "-" ? anchor : full;
          if (anchor !== "-") this.label(name, page, at, NAME, titles[page]);
        }
      }
    }

    count(stems, pages, weight) {
      for (const stem of stems) {
        if (!this.weights.has(stem)) this.weights.set(stem, new Map());
        const own = this.weights.get(stem);
        for (const page of pages) own.set(page, Math.max(own.get(page) ?? 0, weight));
      }
    }

    spell(text) {
      for (const word of wordsOf(text)) if (word.length > 3) this.spellings.add(word);
    }

    label(text, page, anchor, weight, from, phrase = text) {
      this.labels.push({ text, stems: new Set(stemsOf(phrase)), page, anchor, weight, from });
    }

    // On which pages a word stands, and how much it counts on each
    placesOf(stem) {
      const places = new Map(this.weights.get(stem));
      if (stem.length < 3) return places;
      for (const [longer, pages] of this.weights) {
        if (longer === stem || !longer.startsWith(stem)) continue;
        for (const [page, weight] of pages) {
          places.set(page, Math.max(places.get(page) ?? 0, weight * BEGINNING));
        }
      }
      return places;
    }

    // The words of a query that count, each as it should be written
    understand(query) {
      const all = wordsOf(query);
      const counted = all.filter((word) => !LESS.has(word));
      return (counted.length ? counted : all).map((word) => {
        const isKnown = this.placesOf(stemmer.stemWord(word)).size > 0;
        return { word, instead: isKnown ? word : (this.nearest(word) ?? word) };
      });
    }

    // A word that is one letter, or two that changed places, away; most people begin a word right
    nearest(word) {
      if (word.length < 4) return undefined;
      const near = [...this.spellings].filter((other) => isOneEditAway(word, other));
      return near.sort((a, b) => sharedStart(word, b) - sharedStart(word, a))[0];
    }

    find(query) {
      const words = this.understand(query);
      const stems = [...new Set(words.map(({ instead }) => stemmer.stemWord(instead)))];
      const places = stems.map((stem) => this.placesOf(stem));
      const rarity = places.map(({ size }) => Math.log(1 + this.order.size / Math.max(size, 1)));
      const found = [];
      this.index.docnames.forEach((name, page) => {
        if (!this.order.has(name)) return;
        const own = places.map((pages) => pages.get(page) ?? 0);
        const share = own.filter(Boolean).length / stems.length;
        const score = own.reduce((sum, weight, i) => sum + weight * rarity[i], 0) * share ** 2;
        if (score) found.push({ page, anchor: "", title: this.index.titles[page], score });
      });
      for (const { text, stems: own, page, anchor, weight, from } of this.labels) {
        const shared = stems.map((stem) => own.has(stem));
        const matched = shared.filter(Boolean).length;
        if (!matched) continue;
        const sum = shared.reduce((sum, is, i) => sum + is * rarity[i], 0);
        const score = (weight * sum * (matched / stems.length) ** 2 * matched) / own.size;
        found.push({ page, anchor, title: text, from, score });
      }
      // A question counts as a lesson with these words in its header would.
      for (const { text, stems: own, page, anchor, from } of this.questions) {
        const shared = stems.map((stem) => own.has(stem));
        const share = shared.filter(Boolean).length / stems.length;
        const sum = shared.reduce((sum, is, i) => sum + is * rarity[i], 0);
        if (sum) found.push({ page, anchor, title: text, from, score: ENTRY * sum * share ** 2 });
      }
      for (const one of found) {
        one.name = this.index.docnames[one.page];
        const kind = Object.keys(KINDS).find((folder) => one.name.startsWith(folder));
        one.score *= KINDS[kind] ?? 1;
      }
      const order = (one) => this.order.get(one.name) ?? this.order.size;
      found.sort((a, b) => b.score - a.score || order(a) - order(b));
      // A section that several phrases lead to is one place.
      const seen = new Set();
      const isNew = ({ name, anchor }) => {
        const place = `${name}#${anchor}`;
        return !seen.has(place) && seen.add(place);
      };
      return { words, found: found.filter(isNew) };
    }
  }

  function sharedStart(a, b) {
    let start = 0;
    while (start < a.length && a[start] === b[start]) start++;
    return start;
  }

  // Whether one letter more, less or other, or two neighbours exchanged, turn one word into another
  function isOneEditAway(a, b) {
    const start = sharedStart(a, b);
    const [restA, restB] = [a.slice(start), b.slice(start)];
    return (
      restA !== restB &&
      (restA.slice(1) === restB ||
        restA === restB.slice(1) ||
        restA.slice(1) === restB.slice(1) ||
        (restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2)))
    );
  }

  function part(name, attributes, ...children) {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children); // strings become text
    return made;
  }

  function show({ name, anchor, title, from }, description) {
    const href = `${name}${DOCUMENTATION_OPTIONS.LINK_SUFFIX}${anchor && `#${anchor}`}`;
    const item = part("li", {}, part("a", { href }, title));
    if (from) item.append(` · ${from}`);
    if (description) item.append(part("p", { className: "context" }, description));
    return item;
  }

  let finder;
  const findPages = (query) => {
    const held = (id) => JSON.parse(document.getElementById(id).textContent);
    finder ??= new Finder(Search._index, held("search-pages"), held("search-phrases"));
    return finder.find(query);
  };
  globalThis.findPages = findPages; // for the table in the tests

  Search.query = (query) => {
    const { words, found } = findPages(query);
    const other = words.filter(({ word, instead }) => word !== instead);
    const said = other.map(
      ({ word, instead }) => `No page has “${word}”; searched for “${instead}”.`,
    );
    if (!found.length) {
      said.push("Your search did not match any documents. Another word may help.");
    } else if (found.length > SHOWN) {
      said.push(`The ${SHOWN} likeliest of ${found.length} places:`);
    } else {
      said.push(found.length > 1 ? `${found.length} places, the likeliest first:` : "One place:");
    }
    Search.stopPulse();
    Search.title.textContent = "Search results";
    Search.status.textContent = said.join(" ");
    for (const one of found.slice(0, SHOWN)) {
      Search.output.append(show(one, one.from ? "" : finder.descriptions[one.name]));
    }
  };
}
