"use strict";
/* Tokens on a page: hidden characters shown, characters that tokens share, bytes under graphemes.
   Shared by the report, the inspector and the service's page. Nothing is set but text. */
const JetonTokens = (() => {
  const make = (name, className, text) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const encoder = new TextEncoder();
  const N_LOOKS = 6;
  const marks = ["\u25cf", "\u25a0", "\u25b2", "\u25c6", "\u25bc", "\u271a"];

  /* Hidden characters become pictures, as everywhere in our reports. */
  const isHidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;
  const isSpace = /\p{Zs}/u;
  const isMark = /\p{M}/u;
  const NAMES = {
    0x9: "tab", 0xa: "line end", 0xd: "carriage return", 0xa0: "no-break space", 0xad: "soft hyphen",
    0x34f: "grapheme joiner", 0x61c: "Arabic letter mark", 0x200b: "zero width space",
    0x200c: "zero width non-joiner", 0x200d: "zero width joiner", 0x200e: "left-to-right mark",
    0x200f: "right-to-left mark", 0x2028: "line separator", 0x2029: "paragraph separator",
    0x202a: "left-to-right embedding", 0x202b: "right-to-left embedding", 0x202c: "pop direction",
    0x202d: "left-to-right override", 0x202e: "right-to-left override", 0x202f: "narrow no-break space",
    0x2060: "word joiner", 0x2066: "left-to-right isolate", 0x2067: "right-to-left isolate",
    0x2068: "first strong isolate", 0x2069: "pop isolate", 0x3000: "ideographic space",
    0x3164: "Hangul filler", 0xfe0e: "text style", 0xfe0f: "emoji style", 0xfeff: "byte order mark",
  };
  const point = (char) => `U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  const nameOf = (char) => {
    const code = char.codePointAt(0);
    if (NAMES[code]) return `${NAMES[code]} (${point(char)})`;
    if (code >= 0xe0000 && code <= 0xe007f) return `tag character (${point(char)})`;
    return point(char);
  };
  const picture = (char) => {
    const code = char.codePointAt(0);
    if (char === "\n") return "\u21b5\n";
    if (char === "\r") return "\u240d";
    if (char === "\t") return "\u2192\t";
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `\u27e8${point(char)}\u27e9`;
  };
  const badge = (char) => {
    const shown = picture(char);
    const element = make("span", shown.startsWith("\u27e8") ? "h badge" : "h", shown);
    element.title = nameOf(char);
    return element;
  };
  const drawn = (parent, points) => {
    let run = "";
    const flush = () => { if (run) parent.append(run); run = ""; };
    points.forEach((char, index) => {
      if (char === " ") { flush(); parent.append(make("span", "w", " ")); }
      else if (isHidden.test(char) || isSpace.test(char)) { flush(); parent.append(badge(char)); }
      else run += index === 0 && isMark.test(char) ? `\u25cc${char}` : char;
    });
    flush();
    if (!points.length) parent.append(make("span", "h", "\u2205"));
  };
  const plain = (text) => Array.from(text, (char) => (isHidden.test(char) ? picture(char).trimEnd() : char)).join("");
  const pairs = (hex) => (hex.match(/../g) ?? []).join(" ").toUpperCase();
  const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

  /* Tokens that overlap are one stretch with several tokens; the same rule as in the audit. */
  const stretches = (places, n) => {
    const found = [];
    let position = 0, token = 0;
    while (token < places.length) {
      const first = token;
      const start = Math.max(places[token].start, position);
      let end = places[token].end;
      token += 1;
      while (token < places.length && places[token].start < end) {
        end = Math.max(end, places[token].end);
        token += 1;
      }
      if (start > position) found.push({ start: position, end: start, first, last: first });
      found.push({ start, end, first, last: token });
      position = Math.max(position, end);
    }
    if (position < n) found.push({ start: position, end: n, first: token, last: token });
    return found;
  };

  /* Graphemes with their bytes: what a reader takes for one character. */
  const graphemes = (text) => {
    const parts = window.Intl?.Segmenter
      ? Array.from(new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text), (part) => part.segment)
      : Array.from(text);
    let first = 0;
    return parts.map((part) => {
      const last = first + encoder.encode(part).length;
      const found = { text: part, first, last };
      first = last;
      return found;
    });
  };

  /* Moving by keys and pointer between the parts of a box that have data-i. */
  const walk = (box, parts, say) => {
    let at = -1;
    const go = (index, scroll) => {
      if (at >= 0) parts[at].forEach((part) => part.classList.remove("at"));
      at = index;
      say(at);
      if (at < 0) return;
      parts[at].forEach((part) => part.classList.add("at"));
      if (scroll) parts[at][0].scrollIntoView({ block: "nearest" });
    };
    const indexOf = new Map();
    parts.forEach((elements, index) => elements.forEach((element) => indexOf.set(element, index)));
    box.addEventListener("pointerover", (event) => {
      const part = event.target.closest("[data-i]");
      if (part && indexOf.has(part)) go(indexOf.get(part), false);
    });
    box.addEventListener("pointerleave", () => go(-1, false));
    box.addEventListener("blur", () => go(-1, false));
    box.addEventListener("keydown", (event) => {
      const target = { ArrowRight: Math.min(at + 1, parts.length - 1), ArrowLeft: Math.max(at - 1, 0),
        Home: 0, End: parts.length - 1 }[event.key];
      if (target === undefined || !parts.length || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      go(target, true);
    });
    return { parts, get at() { return at; }, add: (elements) => {
      parts.push(elements);
      elements.forEach((element) => indexOf.set(element, parts.length - 1));
    } };
  };

  /* The ruler: graphemes, bytes and tokens over one another, in lines of as many bytes as fit.
     `tokens` are {id, first, last} in bytes; a token or a grapheme that goes on in the next line has
     an open edge. */
  const CELL = 30, LEAST = 8, MOST = 32, AT_ONCE = 768;
  const ruler = (box, { text, tokens, say }) => {
    const bytes = encoder.encode(text), letters = graphemes(text);
    const width = box.clientWidth || 640;
    const perLine = Math.max(LEAST, Math.min(MOST, Math.floor(width / CELL / 4) * 4));
    const parts = tokens.map(() => []);
    let shown = 0;
    const more = make("button", "more-bytes");
    more.type = "button";
    const cell = (line, row, item, start, className) => {
      const first = Math.max(item.first, start), last = Math.min(item.last, start + perLine);
      const element = make("span", className);
      element.style.gridArea = `${row} / ${first - start + 1} / ${row + 1} / ${last - start + 1}`;
      if (item.first < first) element.classList.add("came");
      if (item.last > last) element.classList.add("goes");
      line.append(element);
      return element;
    };
    /* A grapheme in two lines has its shape where it has more bytes. */
    const isWidest = (item, start, size) => {
      const width = (at) => Math.min(item.last, at + size) - Math.max(item.first, at);
      const isBefore = item.first < start && width(start - size) >= width(start);
      return !isBefore && item.first >= start - size && (item.last <= start + size || width(start) >= width(start + size));
    };
    const inLine = (items, from, start) => {
      const found = [];
      let index = from;
      while (index < items.length && items[index].last <= start) index += 1;
      for (let i = index; i < items.length && items[i].first < start + perLine; i += 1) found.push([i, items[i]]);
      return [index, found];
    };
    let letter = 0, token = 0;
    const draw = () => {
      const until = Math.min(bytes.length, shown + AT_ONCE - (AT_ONCE % perLine));
      for (let start = shown; start < until; start += perLine) {
        const line = make("div", "bytes-line");
        line.style.setProperty("--n", perLine);
        let found;
        [letter, found] = inLine(letters, letter, start);
        for (const [, item] of found) {
          const element = cell(line, 1, item, start, "letter");
          const shape = make("bdi");
          if (isWidest(item, start, perLine)) {
            const points = Array.from(item.text);
            if (points.length === 1) drawn(shape, points.map((char) => char));
            else if (points.every((char) => isHidden.test(char))) drawn(shape, points);
            else shape.textContent = isMark.test(points[0]) ? `\u25cc${item.text}` : item.text;
            element.title = points.map(nameOf).join(", ");
          }
          element.append(shape);
        }
        for (let at = start; at < Math.min(start + perLine, bytes.length); at += 1) {
          const element = cell(line, 2, { first: at, last: at + 1 }, start, "byte");
          element.textContent = bytes[at].toString(16).padStart(2, "0");
        }
        [token, found] = inLine(tokens, token, start);
        for (const [index, item] of found) {
          if (item.first === item.last) continue;
          const element = cell(line, 3, item, start, index % 2 ? "token odd" : "token");
          element.dataset.i = index;
          element.append(make("span", "id", item.first >= start ? item.id : "\u2026"));
          parts[index].push(element);
        }
        box.insertBefore(line, more);
      }
      shown = until;
      more.hidden = shown >= bytes.length;
      more.textContent = `Show more of ${bytes.length.toLocaleString("en")} bytes`;
    };
    box.replaceChildren(more);
    more.addEventListener("click", () => { draw(); rewalk(); });
    draw();
    let walked = null;
    const rewalk = () => {
      const drawnParts = parts.filter((elements) => elements.length);
      const numbers = parts.map((elements, index) => (elements.length ? index : -1)).filter((index) => index >= 0);
      if (walked) {
        for (let i = walked.parts.length; i < drawnParts.length; i += 1) walked.add(drawnParts[i]);
        walkedNumbers.splice(0, walkedNumbers.length, ...numbers);
        return;
      }
      walkedNumbers.push(...numbers);
      walked = walk(box, drawnParts, (at) => say(at < 0 ? -1 : walkedNumbers[at]));
    };
    const walkedNumbers = [];
    rewalk();
    return perLine;
  };

  return { N_LOOKS, make, marks, encoder, picture, badge, drawn, plain, pairs, hexOf, nameOf, stretches, graphemes, walk, ruler };
})();
