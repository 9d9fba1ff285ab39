/* Tokens of one answer, drawn three ways: as text, as bytes, as a table. */
const { make, encoder, drawn, plain, pairs, hexOf, graphemes, stretches, walk, ruler, marks, N_LOOKS, nameOf } = JetonTokens;
export { drawn, make, marks, N_LOOKS, plain, walk };

const count = new Intl.NumberFormat("en");
export const number = (value) => count.format(value);

const bytesOf = (base64) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));

/* Tokens with their places in bytes and graphemes. Most is cut off: a page of a megabyte helps nobody. */
const MOST_DRAWN = 6000;

export const tokensOf = (answer) => answer.ids.slice(0, MOST_DRAWN).map((id, i) => ({
  id, first: answer.starts_bytes[i], last: answer.ends_bytes[i], start: answer.starts[i], end: answer.ends[i],
  hex: hexOf(bytesOf(answer.pieces[i])), special: answer.is_special[i],
}));

export const describe = (tokens, index) => {
  const token = tokens[index];
  return `token ${number(index)} \u00b7 id ${token.id} \u00b7 ${pairs(token.hex) || "no bytes"} \u00b7 bytes ${number(token.first)} to ${number(token.last)}`
    + ` \u00b7 characters ${number(token.start)} to ${number(token.end)}${token.special ? " \u00b7 special" : ""}`;
};

const group = (className, label) => {
  const box = make("div", className);
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", `${label}; the arrow keys move from token to token`);
  return box;
};

/* The text with a span for each token; a character of several tokens has a tick for each of them. */
export const flow = (text, tokens, { label, say, isOdd = () => false }) => {
  const box = group("tokens flow", label);
  box.dir = "auto";
  const points = Array.from(text), parts = [];
  /* Tokens meet inside characters: stretches go by code points, and inside one the bytes are shared. */
  for (const stretch of stretches(tokens, points.length)) {
    const inside = tokens.slice(stretch.first, stretch.last);
    const span = make("span");
    drawn(span, points.slice(stretch.start, stretch.end));
    if (!inside.length) {
      span.className = tokens.length >= MOST_DRAWN && stretch.first >= tokens.length ? "beyond" : "gap";
    } else if (inside.length === 1) {
      span.dataset.i = stretch.first;
      parts.push([stretch.first, [span]]);
    } else {
      span.className = "shared";
      const ticks = make("span", "ticks");
      ticks.setAttribute("aria-hidden", "true");
      inside.forEach((_, offset) => {
        const tick = make("span", "tick");
        tick.dataset.i = stretch.first + offset;
        ticks.append(tick);
        parts.push([stretch.first + offset, [tick, span]]);
      });
      span.append(ticks);
    }
    if (inside.some((token) => token.special)) span.classList.add("special");
    if (inside.length && inside.some((token, offset) => isOdd(stretch.first + offset))) span.classList.add("differs");
    box.append(span);
  }
  walk(box, parts.map(([, elements]) => elements), (at) => say(at < 0 ? -1 : parts[at][0]));
  return box;
};

export const bytes = (text, tokens, { label, say }) => {
  const box = group("bytes-view", label);
  /* Drawn once it is on the page: the line is as long as the page is wide. */
  requestAnimationFrame(() => ruler(box, { text, tokens, say }));
  return box;
};

const ROWS = 500;
export const table = (text, tokens) => {
  const scroll = make("div", "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Table of the tokens");
  const element = make("table"), head = make("thead"), row = make("tr"), body = make("tbody");
  element.append(make("caption", "", tokens.length > ROWS ? `The first ${ROWS} of ${number(tokens.length)} tokens` : "All tokens"));
  [["Token", ""], ["Id", ""], ["Text", "text"], ["Bytes", "text"], ["Place in bytes", ""]].forEach(([name, kind]) => {
    const cell = make("th", kind, name);
    cell.scope = "col";
    row.append(cell);
  });
  head.append(row);
  const decoder = new TextDecoder("utf-8");
  tokens.slice(0, ROWS).forEach((token, index) => {
    const line = make("tr"), first = make("th", "", number(index)), shown = make("bdi", "piece");
    first.scope = "row";
    const data = Uint8Array.from(token.hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
    const words = decoder.decode(data);
    if (words.includes("\ufffd")) shown.textContent = "part of a character";
    else drawn(shown, Array.from(words));
    const cell = make("td", "text k2");
    cell.append(shown);
    line.append(first, make("td", "", token.id), cell, make("td", "text mono", pairs(token.hex)), make("td", "", `${number(token.first)}\u2013${number(token.last)}`));
    body.append(line);
  });
  element.append(head, body);
  scroll.append(element);
  return scroll;
};

export const sizes = (text) => ({
  bytes: encoder.encode(text).length,
  graphemes: text.length <= 200000 ? graphemes(text).length : null,
  hidden: Array.from(text.slice(0, 200000)).filter((char) => nameOf(char) !== "" && /[\p{Cf}\p{Co}\u00a0\u034f\u115f\u1160\u3164\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u.test(char)).length,
});
