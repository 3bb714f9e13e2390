// The buttons that insert a variable into the field that was edited last.
"use strict";

let edited = null; // the field that was edited last

// takesVariables reports whether a field of the editor can contain a variable.
function takesVariables(field) {
  return field.matches?.("#editor :is(textarea, input[type=text])") && !field.matches("#name, #insert");
}

document.addEventListener("focusin", ({ target }) => { if (takesVariables(target)) edited = target; });

// target returns the field for a variable: the last edited one, or the first visible text.
function target() {
  if (edited?.isConnected && edited.checkVisibility()) return edited;
  const fields = [...document.querySelectorAll("#editor :is(textarea, input[type=text])")].filter((f) => takesVariables(f) && f.checkVisibility());
  return fields.find((f) => f.matches("textarea")) ?? fields[0];
}

function insert(name) {
  const field = target();
  if (!field) return;
  const untouched = field !== edited;
  field.focus();
  const at = untouched ? field.value.length : field.selectionStart;
  field.setRangeText("{{" + name + "}}", at, untouched ? at : field.selectionEnd, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

// insertNew inserts the variable of the field, and adds a button for it.
function insertNew() {
  const field = document.getElementById("insert");
  const name = field.value.trim();
  const right = /^\+?[\p{L}\p{N}._-]+$/u.test(name);
  field.setCustomValidity(right ? "" : field.dataset.invalid);
  if (!field.reportValidity()) return;
  const buttons = [...document.querySelectorAll("[data-insert]")];
  if (!buttons.some((b) => b.dataset.insert === name)) {
    const button = buttons.at(-1).cloneNode();
    button.dataset.insert = button.textContent = name;
    buttons.at(-1).after(" ", button);
  }
  field.value = "";
  insert(name);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-insert], [data-insert-new]");
  if (!button) return;
  if (button.matches("[data-insert]")) insert(button.dataset.insert);
  else insertNew();
});

document.addEventListener("keydown", (event) => {
  if (event.target.id !== "insert" || event.key !== "Enter") return;
  event.preventDefault();
  insertNew();
});
document.addEventListener("input", ({ target: field }) => { if (field.id === "insert") field.setCustomValidity(""); });
