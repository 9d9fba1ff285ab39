"use strict";
/* Searching, choosing and drawing documents token by token. Nothing is put on the page but text. */
(() => {
  const source = document.getElementById("inspect-data");
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const { make, marks, encoder, drawn, plain, pairs, stretches, walk, ruler, N_LOOKS: nLooks } = JetonTokens;

  /* Sorting: a heading becomes a button; a second press turns the order round. */
  const keyOf = (cell) => {
    const number = cell.querySelector("data[value]");
    return number ? Number(number.value) : (cell.querySelector("bdi") ?? cell).textContent.trim();
  };
  const ordered = (a, b) => {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a < b ? -1 : a > b ? 1 : 0;
  };
  all("table.sortable").forEach((table) => {
    all("thead th", table).forEach((heading, column) => {
      const button = make("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => {
        const descending = heading.getAttribute("aria-sort") === "ascending";
        all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
        const rows = Array.from(table.tBodies[0].rows, (row) => [keyOf(row.cells[column]), row]);
        rows.sort(([a], [b]) => (descending ? ordered(b, a) : ordered(a, b)));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
      heading.append(button);
    });
  });
  if (!source) return;

  const data = JSON.parse(source.textContent);
  const root = document.querySelector(".inspect");
  const [list, viewer] = [root.querySelector(".documents"), root.querySelector(".viewer")];
  const [readout, status] = [root.querySelector(".readout"), root.querySelector(".status")];
  const [find, order] = [root.querySelector("#find"), root.querySelector("#order")];
  const [script, language] = [root.querySelector("#script"), root.querySelector("#language")];
  const count = new Intl.NumberFormat("en");
  const hidden = new Set();
  let current = 0, here = -1;
  root.hidden = false;

  /* Starts and ends of the tokens of a cut, in code points. */
  const placesOf = (cut) => {
    let position = 0;
    return cut.ids.map((id, index) => {
      const start = position + (cut.gaps[index] ?? 0);
      position = start + cut.lengths[index];
      return { id, start, end: position };
    });
  };
  /* Places of tokens in bytes: tokens that share characters divide their bytes, where these add up. */
  const inBytes = (places, points, tokenizer) => {
    const at = [0];
    points.forEach((char) => at.push(at.at(-1) + encoder.encode(char).length));
    const found = places.map((place) => ({ id: place.id, first: at[place.start], last: at[place.end] }));
    for (const stretch of stretches(places, points.length)) {
      if (stretch.last - stretch.first < 2) continue;
      const sizes = places.slice(stretch.first, stretch.last).map((place) => data.tokenizers[tokenizer].tokens[place.id][0].length / 2);
      const whole = sizes.reduce((sum, size) => sum + size, 0);
      if (whole !== at[stretch.end] - at[stretch.start]) continue;
      let first = at[stretch.start];
      sizes.forEach((size, offset) => {
        found[stretch.first + offset] = { id: places[stretch.first + offset].id, first, last: first + size };
        first += size;
      });
    }
    return found;
  };

  /* What is searched for: text, an id, or bytes. */
  const wanted = () => {
    const query = find.value;
    let match = /^id:\s*(\d+)$/i.exec(query.trim());
    if (match) return { kind: "id", id: Number(match[1]) };
    match = /^bytes:\s*((?:[0-9a-f]{2}\s*)+)$/i.exec(query.trim());
    if (match) return { kind: "bytes", hex: match[1].replace(/\s/g, "").toLowerCase() };
    return query ? { kind: "text", text: query.toLowerCase() } : null;
  };
  const holds = (tokenizer, id, hex) => {
    const bytes = data.tokenizers[tokenizer].tokens[id][0];
    for (let at = bytes.indexOf(hex); at >= 0; at = bytes.indexOf(hex, at + 1)) if (at % 2 === 0) return true;
    return false;
  };
  const hasHit = (entry, search) => {
    if (!search) return true;
    if (search.kind === "text") return entry.text.toLowerCase().includes(search.text);
    return entry.cuts.some((cut, index) => !hidden.has(index) && cut.ids.some((id) =>
      search.kind === "id" ? id === search.id : holds(index, id, search.hex)));
  };
  /* Ranges of the text that were found, in code points. */
  const rangesOf = (entry, search) => {
    const lower = entry.text.toLowerCase(), ranges = [];
    /* Where small letters change the length, places would be wrong: then only exact text counts. */
    const text = lower.length === entry.text.length ? lower : entry.text;
    for (let at = text.indexOf(search.text); at >= 0; at = text.indexOf(search.text, at + search.text.length)) {
      const start = Array.from(text.slice(0, at)).length;
      ranges.push([start, start + Array.from(search.text).length]);
    }
    return ranges;
  };

  const perToken = (entry, index) => (entry.n_tokens[index] ? entry.n_bytes / entry.n_tokens[index] : 0);
  const perByte = (entry) => entry.n_tokens.map((n) => n / Math.max(1, entry.n_bytes));
  const keys = {
    spread: (entry) => Math.min(...perByte(entry)) - Math.max(...perByte(entry)),
    long: (entry) => -Math.max(...entry.n_tokens),
  };
  const shown = () => {
    const search = wanted();
    const key = keys[order.value] ?? ((entry) => perToken(entry, Number(order.value)));
    return data.documents
      .map((entry, index) => [key(entry), index])
      .filter(([, index]) => {
        const entry = data.documents[index];
        return (!script.value || entry.script === script.value)
          && (!language.value || entry.language === language.value) && hasHit(entry, search);
      })
      .sort(([a, i], [b, j]) => a - b || i - j)
      .map(([, index]) => index);
  };

  const listDocuments = () => {
    const indices = shown();
    list.replaceChildren(...indices.map((index) => {
      const entry = data.documents[index];
      const item = make("li"), button = make("button");
      button.type = "button";
      button.dataset.index = index;
      if (index === current) button.setAttribute("aria-current", "true");
      const start = make("bdi", "start", plain(Array.from(entry.text.trim()).slice(0, 80).join("")) || "(white space)");
      const numbers = data.tokenizers.map((_, i) => perToken(entry, i).toFixed(2)).join(" \u00b7 ");
      const of = make("span", "of");
      of.append(`${numbers} bytes per token \u00b7 `, make("bdi", "", plain(entry.source)));
      button.append(start, of);
      button.addEventListener("click", () => { current = index; here = -1; listDocuments(); draw(); });
      item.append(button);
      return item;
    }));
    const n = indices.length;
    status.textContent = n === data.documents.length
      ? `${count.format(n)} document${n === 1 ? "" : "s"}` : `${count.format(n)} of ${count.format(data.documents.length)} documents`;
    return indices;
  };

  const describe = (entry, cut, tokenizer, stretch, places, points) => {
    const facts = data.tokenizers[tokenizer];
    const range = `code points ${entry.first_char + stretch.start} to ${entry.first_char + stretch.end}`;
    const before = encoder.encode(points.slice(0, stretch.start).join("")).length;
    const size = encoder.encode(points.slice(stretch.start, stretch.end).join("")).length;
    const first = entry.first_byte + before;
    const bytes = ` \u00b7 bytes ${first} to ${first + size}`;
    const each = places.slice(stretch.first, stretch.last).map((place, offset) => {
      const [hex, rank, n, special] = facts.tokens[place.id];
      const ranked = rank === null ? "no rank" : `${facts.rank_kind} rank ${count.format(rank)}`;
      return `token ${stretch.first + offset} \u00b7 id ${place.id} \u00b7 ${pairs(hex) || "no bytes"} \u00b7 ${ranked}`
        + ` \u00b7 shown ${count.format(n)}\u00d7${special ? " \u00b7 special" : ""}`;
    });
    const most = 4;
    const more = each.length > most ? `\n\u2026 and ${each.length - most} more` : "";
    return `${each.slice(0, most).join("\n")}${more}\n${range}${bytes}`;
  };

  const drawCut = (entry, tokenizer, points, search) => {
    const cut = entry.cuts[tokenizer];
    const places = placesOf(cut);
    const found = search?.kind === "text" ? rangesOf(entry, search) : [];
    const one = make("div", `one k${tokenizer % nLooks}`), head = make("p", "head"), name = make("span", "name");
    const mark = make("span", "mark", marks[tokenizer % nLooks]);
    mark.setAttribute("aria-hidden", "true");
    name.append(mark, " ", make("bdi", "", plain(data.tokenizers[tokenizer].name)));
    const words = `${count.format(entry.n_tokens[tokenizer])} tokens \u00b7 ${perToken(entry, tokenizer).toFixed(2)} bytes per token`;
    head.append(name, make("span", "count", words));
    const box = make("div", "tokens");
    box.tabIndex = 0;
    box.dir = "auto";
    box.dataset.tokenizer = tokenizer;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", `The text cut by ${plain(data.tokenizers[tokenizer].name)}; the arrow keys move from token to token`);
    const spans = [], of = new Map();
    for (const stretch of stretches(places, points.length)) {
      const span = make("span");
      drawn(span, points.slice(stretch.start, stretch.end));
      const n = stretch.last - stretch.first;
      if (!n) span.className = "gap";
      else {
        if (n > 1) { span.className = "m"; span.append(make("sup", "", n)); }
        const inside = places.slice(stretch.first, stretch.last);
        if (inside.some((place) => data.tokenizers[tokenizer].tokens[place.id][3])) span.classList.add("special");
        const isHit = search && (search.kind === "text"
          ? found.some(([start, end]) => start < stretch.end && end > stretch.start)
          : inside.some((place) => (search.kind === "id" ? place.id === search.id : holds(tokenizer, place.id, search.hex))));
        if (isHit) span.classList.add("hit");
        span.dataset.i = stretch.first;
        of.set(span, stretch);
        spans.push(span);
      }
      box.append(span);
    }
    walk(box, spans.map((span) => [span]), (at) => {
      readout.textContent = at < 0 ? "" : describe(entry, cut, tokenizer, of.get(spans[at]), places, points);
    });
    const fold = make("details", "bytes-fold"), view = make("div", "bytes-view");
    view.tabIndex = 0;
    view.setAttribute("role", "group");
    view.setAttribute("aria-label", `Bytes under ${plain(data.tokenizers[tokenizer].name)}; the arrow keys move from token to token`);
    fold.append(make("summary", "", "Bytes"), view);
    fold.addEventListener("toggle", () => {
      if (!fold.open || view.childElementCount) return;
      const tokens = inBytes(places, points, tokenizer);
      ruler(view, { text: entry.text, tokens, say: (at) => {
        const stretch = at < 0 ? null : { ...places[at], first: at, last: at + 1 };
        readout.textContent = stretch ? describe(entry, cut, tokenizer, stretch, places, points) : "";
      } });
    });
    one.append(head, box, fold);
    return one;
  };

  const draw = () => {
    const entry = data.documents[current];
    readout.textContent = "";
    if (!entry) { viewer.replaceChildren(); return; }
    const points = Array.from(entry.text), about = make("p", "about"), name = make("strong");
    name.append(make("bdi", "", plain(entry.source)));
    const facts = [`${count.format(entry.n_bytes)} bytes`, `${count.format(entry.n_chars)} code points`,
      entry.script, entry.language];
    if (entry.n_copies > 1) facts.push(`${count.format(entry.n_copies)} copies`);
    if (points.length < entry.n_chars) facts.push(`shown from code point ${count.format(entry.first_char)} on, its worst stretch`);
    about.append(name, ` \u00b7 ${facts.filter(Boolean).join(" \u00b7 ")}`);
    const search = wanted();
    viewer.replaceChildren(about, ...data.tokenizers.map((_, index) => index)
      .filter((index) => !hidden.has(index)).map((index) => drawCut(entry, index, points, search)));
  };

  const update = () => {
    const indices = listDocuments();
    if (!indices.includes(current)) { current = indices[0] ?? -1; here = -1; listDocuments(); }
    draw();
  };
  /* What was typed is looked for when typing pauses, or at once when somebody asks for the next place. */
  let waiting = 0;
  const searchNow = () => { clearTimeout(waiting); waiting = 0; here = -1; update(); };
  /* The next place; after the last of a document comes the next document. */
  const step = (by) => {
    if (waiting) searchNow();
    const hits = () => all(".hit", viewer);
    const places = hits();
    all(".here", viewer).forEach((element) => element.classList.remove("here"));
    let next = here + by;
    if (!wanted()) return;
    if (next < 0 || next >= places.length) {
      const indices = shown();
      if (!indices.length) return;
      const place = (indices.indexOf(current) + by + indices.length) % indices.length;
      current = indices[place];
      listDocuments();
      draw();
      next = by > 0 ? 0 : hits().length - 1;
    }
    here = next;
    const target = hits()[here];
    if (!target) return;
    target.classList.add("here");
    target.scrollIntoView({ block: "center" });
    status.textContent = `place ${here + 1} of ${hits().length} in this document, ${shown().length} documents`;
  };

  find.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(searchNow, 120); });
  root.querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); step(1); });
  all("[data-step]", root).forEach((button) => button.addEventListener("click", () => step(Number(button.dataset.step))));
  [order, script, language].forEach((select) => select.addEventListener("change", () => {
    here = -1;
    current = shown()[0] ?? current;
    update();
  }));
  all("[data-toggle]", root).forEach((button) => button.addEventListener("click", () => {
    const index = Number(button.dataset.toggle);
    if (!hidden.delete(index) && hidden.size < data.tokenizers.length - 1) hidden.add(index);
    all("[data-toggle]", root).forEach((other) => other.setAttribute("aria-pressed", String(!hidden.has(Number(other.dataset.toggle)))));
    update();
  }));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    find.focus();
  });

  /* Tables that lead here. */
  const goTo = (element, action) => {
    const button = make("button", "link", element.textContent);
    button.type = "button";
    button.addEventListener("click", () => { action(); root.scrollIntoView(); });
    element.replaceChildren(button);
  };
  all("[data-document]").forEach((element) => goTo(element, () => {
    [find.value, script.value, language.value] = ["", "", ""];
    current = Number(element.dataset.document);
    here = -1;
    update();
  }));
  all("[data-script]").forEach((element) => {
    if (!Array.from(script.options).some((option) => option.value === element.dataset.script)) return;
    goTo(element, () => {
      [find.value, script.value, language.value] = ["", element.dataset.script, ""];
      current = shown()[0] ?? current;
      update();
    });
  });
  current = shown()[0] ?? 0;
  update();
})();
