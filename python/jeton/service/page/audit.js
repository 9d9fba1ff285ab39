/* Audit of a dropped file; the report comes as a page of its own, shut off from this one. */
import { ask, onChange, state, trouble } from "./state.js";
import { choices, dropZone } from "./text-views.js";
import { make, number, plain } from "./tokens-view.js";

const by = (id) => document.getElementById(id);
const picked = new Set();
let address = "";

const audit = async (file) => {
  const most = state.info.limits.max_body_bytes;
  if (file.size > most * 0.8) {
    trouble(new Error(`${plain(file.name)} has ${number(file.size)} bytes; this service takes some ${number(Math.floor(most * 0.8))}`));
    return;
  }
  const note = by("audit-note"), names = picked.size ? [...picked] : state.chosen.slice(0, 1);
  note.textContent = `Reading ${plain(file.name)}, ${number(file.size)} bytes`;
  try {
    const found = await ask("v1/audit", { name: file.name, content: await file.text(), tokenizers: names });
    trouble(null);
    note.textContent = `${number(found.n_documents)} documents, ${number(found.n_tokens)} tokens, ${number(found.n_findings)} findings`;
    by("report").srcdoc = found.html;
    by("report").hidden = false;
    if (address) URL.revokeObjectURL(address);
    address = URL.createObjectURL(new Blob([found.html], { type: "text/html" }));
    by("audit-save").href = address;
    by("audit-actions").hidden = false;
  } catch (error) {
    note.textContent = "";
    trouble(error);
  }
};

export const start = () => {
  dropZone(by("audit-drop"), by("audit-file"), audit);
  onChange((fields) => {
    if (!("info" in fields) && !("view" in fields)) return;
    if (!picked.size) state.chosen.forEach((name) => picked.add(name));
    choices(by("audited"), true, (name, isOn) => { if (isOn) picked.add(name); else picked.delete(name); });
  });
  by("audited").replaceChildren(make("span"));
};
