"use strict";
/* Only what moves: sorting, showing and hiding tokenizers, what a token is, copying, printing. */
(() => {
  const report = JSON.parse(document.getElementById("audit-data").textContent);
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));

  /* Sorting: a heading becomes a button; a second press turns the order round. */
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    const number = cell.querySelector("data[value]");
    if (number) {
      /* A change is sorted by the change, which rises and falls with its number. */
      return Number(number.value);
    }
    /* A name without its marker. */
    return (cell.querySelector("bdi") ?? cell).textContent.trim();
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number") return -1;
    if (typeof b === "number") return 1;
    return a < b ? -1 : a > b ? 1 : 0;
  };
  const sortBy = (table, heading, column) => {
    const descending = heading.getAttribute("aria-sort") === "ascending";
    all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows).map((row) => [keyOf(row, column), row]);
    rows.sort(([a], [b]) => (descending ? compare(b, a) : compare(a, b)));
    body.append(...rows.map(([, row]) => row));
  };
  all("table.sortable").forEach((table) => {
    all("thead th", table).forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sortBy(table, heading, column));
      heading.append(button);
    });
  });

  /* Showing and hiding tokenizers in the terms and the samples; one always stays. */
  const hidden = new Set();
  const show = () => {
    all("[data-tokenizer]").forEach((element) => {
      element.hidden = hidden.has(element.dataset.tokenizer);
    });
    all("[data-toggle]").forEach((button) => {
      button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.toggle)));
    });
  };
  all(".toggles").forEach((group) => { group.hidden = false; });
  all("[data-toggle]").forEach((button) => {
    button.addEventListener("click", () => {
      const index = button.dataset.toggle;
      if (!hidden.delete(index) && hidden.size < report.tokenizers.length - 1) hidden.add(index);
      show();
    });
  });

  /* What a token is: id, bytes, code points. */
  const encoder = new TextEncoder();
  const hex = (text) =>
    Array.from(encoder.encode(text), (byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join(" ");
  const describe = (element, sample, cut) => {
    const [first, last = first] = element.dataset.i.split("-").map(Number);
    const start = Math.min(...cut.starts.slice(first, last + 1));
    const end = Math.max(...cut.ends.slice(first, last + 1));
    const bytes = hex(sample.points.slice(start, end).join(""));
    const ids = cut.ids.slice(first, last + 1);
    const range = `code points ${start} to ${end}`;
    return first === last
      ? `token ${first} · id ${ids[0]} · bytes ${bytes || "none"} · ${range}`
      : `tokens ${first} to ${last} share this · ids ${ids.join(", ")} · bytes ${bytes} · ${range}`;
  };
  const readout = document.querySelector(".readout");
  all(".sample").forEach((article) => {
    const data = report.samples[Number(article.dataset.sample)];
    const sample = { points: Array.from(data.text) };
    all(".tokens", article).forEach((box) => {
      const cut = data.cuts[Number(box.dataset.cut)];
            const tokens = Array.from(box.children).filter((element) => element.dataset.i);
      let at = -1;
      const point = (index) => {
        if (at >= 0) tokens[at].classList.remove("at");
        at = index;
        if (at < 0) { readout.textContent = ""; return; }
        tokens[at].classList.add("at");
        readout.textContent = describe(tokens[at], sample, cut);
      };
      box.addEventListener("pointerover", (event) => {
        const token = event.target.closest("[data-i]");
        if (token) point(tokens.indexOf(token));
      });
      box.addEventListener("pointerleave", () => point(-1));
      box.addEventListener("blur", () => point(-1));
      box.addEventListener("keydown", (event) => {
        const target = {
          ArrowRight: Math.min(at + 1, tokens.length - 1),
          ArrowLeft: Math.max(at - 1, 0),
          Home: 0,
          End: tokens.length - 1,
        }[event.key];
        if (target === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        point(target);
      });
    });
  });

  /* Copying. Without a clipboard there is no button. */
  if (navigator.clipboard) {
    all(".actions").forEach((actions) => {
      actions.hidden = false;
      const button = actions.querySelector("[data-copy]");
      const done = actions.querySelector(".done");
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(JSON.stringify(report, null, 2));
          done.textContent = "copied";
        } catch {
          done.textContent = "the browser does not allow copying here";
        }
      });
    });
  }

  /* A link to a part opens it. */
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    const fold = target.querySelector(":scope > .fold");
    if (fold) fold.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  all("a[href^='#']").forEach((link) => link.addEventListener("click", () => {
    if (link.hash === location.hash) unfold();
  }));
  unfold();

  /* A table that is wider than its place says so in words too. */
  const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    target.classList.toggle("has-more", target.scrollWidth > target.clientWidth + 1);
  }));
  all(".scroll").forEach((element) => observer.observe(element));

  /* Paper cannot unfold. */
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    closed.forEach((element) => { element.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((element) => { element.open = false; }));
})();
