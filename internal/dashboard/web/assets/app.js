// What works better with a script; everything else works without.
"use strict";

// What works by a script alone is shown where there is one.
for (const scripted of document.querySelectorAll("[data-scripted]")) scripted.hidden = false;

// A button with data-copy copies the text of the element that it names.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(source.value ?? source.textContent);
  button.textContent = button.dataset.copied;
});

// What is shown once is gone when its page is left, also from a page that the
// browser keeps for its back button.
addEventListener("pagehide", () => {
  for (const shown of document.querySelectorAll("[data-once]")) shown.remove();
});

// An image of a preview that does not load is replaced by words.
function broken(image) {
  const words = image.closest("[data-broken]")?.dataset.broken;
  if (words) image.replaceWith(Object.assign(document.createElement("div"), { className: image.className + " picture", textContent: words }));
}
document.addEventListener("error", (event) => { if (event.target.tagName === "IMG") broken(event.target); }, true);
for (const image of document.images) if (image.complete && !image.naturalWidth) broken(image);

// A part of a page that refreshes itself keeps its open details open, and closed ones closed.
addEventListener("htmx:beforeSwap", ({ detail }) => {
  const answer = new DOMParser().parseFromString(detail.serverResponse, "text/html");
  for (const old of detail.target.querySelectorAll("details[id]")) answer.getElementById(old.id)?.toggleAttribute("open", old.open);
  if (detail.target.querySelector("details[id]")) detail.serverResponse = answer.body.innerHTML;
});

// A button "do" changes the parts of its form. With htmx, only the form is replaced.
document.addEventListener("submit", (event) => {
  const { submitter: button, target: form } = event;
  if (button?.name !== "do" || !window.htmx) return;
  event.preventDefault();
  htmx.ajax("POST", form.action, { source: form, target: form, swap: "outerHTML", values: { do: button.value } });
});
