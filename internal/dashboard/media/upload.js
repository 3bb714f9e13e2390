// Sends a file in parts directly to the media bucket. A part that fails is sent again at a
// new address.
"use strict";

const attempts = 4;
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// call posts fields to the dashboard and returns its answer.
async function call(path, fields) {
  const headers = { "X-CSRF-Token": JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRF-Token"] };
  const answer = await fetch("/dashboard/media/uploads" + path, { method: "POST", headers, body: new URLSearchParams(fields) });
  const type = answer.headers.get("Content-Type") ?? "";
  const read = type.startsWith("application/json") ? await answer.json() : {};
  if (!answer.ok || !type.startsWith("application/json")) throw Object.assign(new Error("refused"), { text: read.error });
  return read;
}

// put sends a part with its progress.
function put(url, part, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", url);
    request.upload.onprogress = (event) => progress(event.loaded);
    request.onload = () => (request.status === 200 ? resolve() : reject(new Error("status")));
    request.onerror = () => reject(new Error("network"));
    request.send(part);
  });
}

async function sendPart(upload, number, part, progress) {
  for (let attempt = 1; ; attempt++) {
    try {
      const { url } = await call("/part", { ...upload, part: number, size: part.size });
      return await put(url, part, progress);
    } catch (error) {
      if (error.text || attempt === attempts) throw error;
      await wait(1000 * attempt);
    }
  }
}

// send uploads a file. If the page is left then, the next one says so.
async function send(file, partSize, leaves, progress) {
  const upload = await call("", { name: file.name, size: file.size });
  for (let from = 0, number = 1; from < file.size; from += partSize, number++) {
    await sendPart(upload, number, file.slice(from, from + partSize), (sent) => progress((from + sent) / file.size));
  }
  return call("/finish", { ...upload, name: file.name, leaves: leaves ? "1" : "" });
}

function show(field, text, bad) {
  const status = field.querySelector("[role=status]");
  status.textContent = text;
  status.className = bad ? "notice bad" : "hint";
}

// start uploads the chosen file. Then the input with the id target gets its link. Without a
// target, the list of files is shown.
async function start(field, button, target) {
  const input = field.querySelector("input[type=file]"), bar = field.querySelector("progress");
  if (!input.files.length) return input.focus();
  button.disabled = true;
  field.hidden = bar.hidden = false;
  show(field, field.dataset.sending);
  try {
    const { link } = await send(input.files[0], Number(field.dataset.upload), !target, (part) => { bar.value = part; });
    if (!target) return location.assign("/dashboard/media");
    fill(target, link);
    show(field, field.dataset.sent + " " + link);
  } catch (error) {
    show(field, error.text ?? field.dataset.failed, true);
  }
  button.disabled = false;
  bar.hidden = true;
}

// fill enters a link. The form may have been replaced meanwhile, without this input.
function fill(target, link) {
  const input = document.getElementById(target);
  if (!input) return;
  input.value = link;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  input.focus();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.uploadTo) return choose(button);
  const field = button.closest("[data-upload]");
  if (field) start(field, button);
});

// choose opens the choice of a file for an input.
function choose(button) {
  const field = document.querySelector("[data-upload]"), input = field.querySelector("input[type=file]");
  input.value = "";
  input.onchange = () => start(field, button, button.dataset.uploadTo);
  input.click();
}
