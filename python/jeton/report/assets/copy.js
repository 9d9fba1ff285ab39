"use strict";
/* A click on code copies it. Without a clipboard it stays plain text. */
(() => {
  if (!navigator.clipboard) return;
  const done = document.createElement("p");
  done.className = "copied";
  done.setAttribute("role", "status");
  document.body.append(done);
  const copy = async (code) => {
    const text = code.textContent.replaceAll("`", "");
    try {
      await navigator.clipboard.writeText(text);
      done.textContent = `copied: ${text}`;
    } catch {
      done.textContent = "the browser does not allow copying here";
    }
    setTimeout(() => { done.textContent = ""; }, 2000);
  };
  document.querySelectorAll("code").forEach((code) => {
    if (code.closest("a, button, summary")) return;
    code.classList.add("copies");
    code.tabIndex = 0;
    code.setAttribute("role", "button");
    code.title = "click to copy";
    code.addEventListener("click", () => copy(code));
    code.addEventListener("keydown", (event) => { if (event.key === "Enter") copy(code); });
  });
})();
