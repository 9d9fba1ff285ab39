"use strict";
(() => {
  const frames = JSON.parse(document.getElementById("data").textContent).frames;
  const find = (id) => document.getElementById(id);
  const slider = find("step");
  const element = (name, text) => {
    const made = document.createElement(name);
    made.textContent = text;
    return made;
  };
  const show = () => {
    const frame = frames[Number(slider.value)];
    if (!frame) return;
    find("at").textContent = `${Number(slider.value) + 1} of ${frames.length}`;
    find("title").textContent = frame.title;
    find("note").textContent = frame.note;
    find("tokens").replaceChildren(...frame.tokens.map((token) => element("span", token)));
    find("rows").replaceChildren(...frame.rows.map((row) => {
      const line = document.createElement("tr");
      line.append(...row.map((cell) => element("td", cell)));
      return line;
    }));
  };
  slider.addEventListener("input", show);
  show();
})();
