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

// A button with data-fill enters a value into the field that it names.
document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-fill]");
  if (!button) return;
  const field = document.getElementById(button.dataset.fill);
  field.value = button.dataset.value;
  field.focus();
});

// What is shown once is gone when its page is left, also from a page that the
// browser keeps for its back button.
addEventListener("pagehide", () => {
  for (const shown of document.querySelectorAll("[data-once]")) shown.remove();
});

// An image of a preview that does not load is replaced by words.
function broken(image) {
  if (image.matches(".logo")) return image.replaceWith(Object.assign(document.createElement("span"), { className: "logo", textContent: image.dataset.initials ?? "" }));
  const words = image.closest("[data-broken]")?.dataset.broken;
  if (words) image.replaceWith(Object.assign(document.createElement("div"), { className: image.className + " picture", textContent: words }));
}
document.addEventListener("error", (event) => { if (event.target.tagName === "IMG") broken(event.target); }, true);
for (const image of document.images) if (image.complete && !image.naturalWidth) broken(image);

// The first wrong field of a form gets the focus, or else the notice of what is wrong.
const wrong = document.querySelector("[aria-invalid=true]") ?? document.querySelector("main form [role=alert], main > [role=alert]");
if (wrong) {
  if (!wrong.matches("input, select, textarea")) wrong.tabIndex = -1;
  wrong.focus();
}

// A file that is larger than data-most bytes is refused before it is sent.
document.addEventListener("change", ({ target }) => {
  if (!target.dataset.most) return;
  const large = [...target.files].some((file) => file.size > target.dataset.most);
  target.setCustomValidity(large ? target.dataset.large : "");
  target.reportValidity();
});

// What was entered in a form is kept in the tab until the form is accepted. If a page
// says that it was refused, such as after the end of the session, the form gets it back.
const entered = "entered";
const here = location.pathname + location.search;
document.addEventListener("submit", ({ target: form, submitter }) => {
  if (form.method !== "post" || form.matches("[hx-post]")) return;
  const values = [...new FormData(form, submitter)].filter(([name, value]) => typeof value === "string" && name !== "csrf" && name !== "once");
  sessionStorage.setItem(entered, JSON.stringify({ page: here, action: form.getAttribute("action"), values }));
});
const kept = JSON.parse(sessionStorage.getItem(entered) ?? "null");
if (kept && document.querySelector("[data-refused]")) {
  sessionStorage.setItem(entered, JSON.stringify({ ...kept, refused: true }));
} else if (kept) {
  sessionStorage.removeItem(entered);
  const form = kept.refused && kept.page === here && document.querySelector(`form[action="${CSS.escape(kept.action)}"]`);
  if (form) enter(form, kept.values);
}
function enter(form, values) {
  for (const box of form.querySelectorAll("[type=checkbox], [type=radio]")) box.checked = false;
  for (const [name, value] of values) {
    for (const field of form.querySelectorAll(`[name="${CSS.escape(name)}"]:not([type=hidden])`)) {
      if (field.matches("[type=checkbox], [type=radio]")) field.checked ||= field.value === value;
      else field.value = value;
    }
  }
  const notice = document.createElement("p");
  notice.className = "notice";
  notice.setAttribute("role", "status");
  notice.textContent = document.body.dataset.restored;
  document.getElementById("over").append(notice);
}

// A page that refreshes parts of itself keeps their open details open, and closed ones closed.
addEventListener("htmx:beforeSwap", ({ detail }) => {
  const answer = new DOMParser().parseFromString(detail.serverResponse, "text/html");
  for (const old of document.querySelectorAll("details[id]")) answer.getElementById(old.id)?.toggleAttribute("open", old.open);
  if (answer.querySelector("details[id]")) detail.serverResponse = (answer.querySelector("title")?.outerHTML ?? "") + answer.body.innerHTML;
});

// A page that nobody sees does not update itself. It does at once when it is shown again.
const updating = '[hx-trigger^="every "]';
addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.target.matches(updating)) event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden || !window.htmx) return;
  for (const part of document.querySelectorAll(updating)) htmx.ajax("GET", part.getAttribute("hx-get"), { source: part, target: part, swap: "outerHTML" });
});

// A button "do" changes the parts of its form. With htmx, only the form is replaced.
document.addEventListener("submit", (event) => {
  const { submitter: button, target: form } = event;
  if (button?.name !== "do" || !window.htmx) return;
  event.preventDefault();
  htmx.ajax("POST", form.action, { source: form, target: form, swap: "outerHTML", values: { do: button.value } });
});

// A double click sends a form once. After ten seconds without an answer it can be sent again.
const again = 10_000;
document.addEventListener("submit", (event) => {
  const { target: form } = event;
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.dataset.sent) return event.preventDefault();
  form.dataset.sent = "1";
  setTimeout(() => delete form.dataset.sent, again);
});
addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent));

// A chart shows the values of the point under the pointer. With the focus, it is a slider: the arrow keys choose a point.
const tip = Object.assign(document.createElement("div"), { className: "tip", ariaHidden: "true" });
let point = Infinity; // of the chart
function prepare() {
  for (const plot of document.querySelectorAll(".plot:not([role])")) {
    const points = plot.querySelectorAll(".at-time"), picture = plot.querySelector("svg"), title = picture.querySelector("title");
    for (const one of points) {
      one.dataset.says = one.textContent;
      one.textContent = "";
    }
    plot.tabIndex = 0;
    picture.setAttribute("aria-hidden", "true");
    for (const [name, value] of [["role", "slider"], ["aria-label", title.textContent], ["aria-valuemin", 1], ["aria-valuemax", points.length]]) plot.setAttribute(name, value);
    title.remove(); // or browsers show it over the values
    choose(plot, point, plot.matches(":hover, :focus"));
  }
}
function choose(plot, at, shown = true) {
  const points = plot.querySelectorAll(".at-time");
  point = Math.max(0, Math.min(at, points.length - 1));
  const [label, ...values] = points[point].dataset.says.split("\n");
  plot.setAttribute("aria-valuenow", point + 1);
  plot.setAttribute("aria-valuetext", [label, ...values].join(", "));
  for (const [i, one] of points.entries()) one.classList.toggle("chosen", shown && i === point);
  if (!shown) return tip.remove();
  const row = (name, value, tag) => {
    const line = document.createElement(tag);
    line.append(name, Object.assign(document.createElement("b"), { textContent: value }));
    return line;
  };
  tip.replaceChildren(row(label, "", "strong"), ...values.map((v) => row(...v.split(": "), "span")));
  plot.append(tip);
  const [box, frame] = [points[point].getBoundingClientRect(), plot.getBoundingClientRect()];
  const after = box.right - frame.left + 8, before = box.left - frame.left - tip.offsetWidth - 8;
  tip.style.left = `clamp(0px, ${after + tip.offsetWidth > frame.width ? before : after}px, 100% - ${tip.offsetWidth}px)`;
}
prepare();
document.addEventListener("htmx:load", prepare);
for (const [event, shown] of [["focusin", true], ["focusout", false]]) {
  document.addEventListener(event, ({ target }) => { if (target.matches(".plot")) choose(target, point, shown); });
}
document.addEventListener("pointerover", ({ target }) => {
  const left = tip.parentElement, plot = target.closest(".plot");
  if (target.matches(".at-time")) choose(plot, [...plot.querySelectorAll(".at-time")].indexOf(target));
  else if (left && left !== plot) choose(left, point, left.matches(":focus"));
});
document.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -Infinity, End: Infinity }[event.key];
  if (!step || !event.target.matches(".plot")) return;
  event.preventDefault();
  choose(event.target, point + step);
});

// An update moves what it changes: numbers fade in, and bars go from their former width to the new one.
const quick = { duration: 150, easing: "ease-out" };
const moving = (root) => [...(root?.querySelectorAll(".many, .number, rect[width$='%']:not(.track, .at-time)") ?? [])];
const shownBy = (e) => e.getAttribute("width") ?? e.textContent;
let former = [];
const remember = ({ target }) => former.push([target.id, moving(target).map(shownBy)]);
addEventListener("htmx:beforeSwap", ({ detail }) => {
  former = [];
  remember(detail);
});
addEventListener("htmx:oobBeforeSwap", ({ detail }) => remember(detail)); // such as a row of a list
addEventListener("htmx:afterSettle", () => {
  const replaced = former;
  former = [];
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const [id, values] of replaced) {
    const now = moving(document.getElementById(id));
    if (now.length === values.length) now.forEach((e, i) => move(e, values[i], shownBy(e)));
  }
});
function move(e, old, value) {
  if (old !== value) e.animate(e.hasAttribute("width") ? { width: [old, value] } : { opacity: [0.2, 1] }, quick);
}

// Single keys: "/" goes to the search of the page, or to that of the campaigns, "n" to a new campaign, and "?" to the
// help. The help switches them off for this browser.
const help = document.getElementById("keys");
if (help) {
  const box = document.getElementById("keys-on");
  const off = () => localStorage.getItem("keys") === "off";
  const open = () => {
    box.checked = !off();
    help.showModal();
  };
  box.addEventListener("change", () => localStorage.setItem("keys", box.checked ? "on" : "off"));
  document.querySelector("[data-keys]").addEventListener("click", open);
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || help.open || off()) return;
    if (target.closest("input, select, textarea, [contenteditable]")) return;
    const field = key === "/" && document.querySelector(".search input:not([type=hidden])");
    const link = ["/", "n"].includes(key) && help.querySelector(`[data-key="${key}"]`);
    if (field) field.select(), field.focus();
    else if (link) location.assign(link.href);
    else if (key === "?") open();
    else return;
    event.preventDefault();
  });
}

// A file that is dropped on the area of a file field is chosen there. A drop beside it does not leave the page.
if (document.querySelector("[data-drop]")) {
  const areaOf = ({ target }) => target.closest?.("[data-drop]");
  const mark = (area) => document.querySelectorAll("[data-drop]").forEach((one) => one.classList.toggle("over", one === area));
  const onFiles = (kind, act) => addEventListener(kind, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    act(event);
  });
  onFiles("dragover", (event) => {
    event.dataTransfer.dropEffect = areaOf(event) ? "copy" : "none";
    mark(areaOf(event));
  });
  addEventListener("dragleave", ({ relatedTarget }) => { if (!relatedTarget) mark(); });
  onFiles("drop", (event) => {
    mark();
    const field = areaOf(event)?.querySelector("input[type=file]"), one = new DataTransfer();
    if (!field || !event.dataTransfer.files.length) return;
    one.items.add(event.dataTransfer.files[0]);
    field.files = one.files;
    field.dispatchEvent(new Event("change", { bubbles: true }));
    field.focus();
  });
}
