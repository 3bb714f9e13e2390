// Sends the large file of a new campaign in parts directly to the bucket. After an
// interruption, the same file continues with the parts that are missing.
"use strict";

(() => {
  const field = document.querySelector("[data-import]"), form = field?.closest("form");
  if (!form) return;
  const input = form.querySelector("input[type=file]"), bar = field.querySelector("progress"), status = field.querySelector("[role=status]");
  const partSize = Number(field.dataset.import), attempts = 4;
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const isLarge = (file) => file && file.size > Number(field.dataset.from);

  // call posts fields to the dashboard and returns its answer.
  async function call(path, fields) {
    const headers = { "X-CSRF-Token": JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRF-Token"] };
    const answer = await fetch("/dashboard/imports" + path, { method: "POST", headers, body: new URLSearchParams(fields) });
    const isJSON = (answer.headers.get("Content-Type") ?? "").startsWith("application/json");
    const read = isJSON ? await answer.json() : {};
    if (!answer.ok || !isJSON) throw Object.assign(new Error("refused"), { text: read.error ?? (answer.status === 401 ? field.dataset.session : undefined) });
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

  async function sendPart(id, number, part, progress) {
    for (let attempt = 1; ; attempt++) {
      try {
        const { url } = await call("/part", { id, part: number });
        return await put(url, part, progress);
      } catch (error) {
        if (error.text || attempt === attempts) throw error;
        await wait(1000 * attempt);
      }
    }
  }

  function show(text, bad) {
    status.textContent = text;
    status.className = bad ? "notice bad" : "hint";
  }

  async function send(file) {
    const entered = Object.fromEntries(["name", "template", "schedule", "notAfter", "draft", "draftVersion"].map((name) => [name, form.elements[name].value]));
    const { id, parts } = await call("", { ...entered, fileName: file.name, size: file.size, modified: file.lastModified });
    const progress = (sent) => {
      bar.value = sent / file.size;
      show(field.dataset.sending.replace("{0}", Math.floor((100 * sent) / file.size)));
    };
    for (let from = 0, number = 1; from < file.size; from += partSize, number++) {
      if (!parts.includes(number)) await sendPart(id, number, file.slice(from, from + partSize), (sent) => progress(from + sent));
      progress(Math.min(from + partSize, file.size));
    }
    return call("/finish", { id });
  }

  async function start(file) {
    const buttons = form.querySelectorAll("button");
    buttons.forEach((button) => (button.disabled = true));
    bar.hidden = false;
    try {
      const { path } = await send(file);
      sessionStorage.removeItem("entered");
      removeEventListener("beforeunload", leaving);
      return location.assign(path);
    } catch (error) {
      show(error.text ?? field.dataset.failed, true);
      bar.hidden = true;
      buttons.forEach((button) => (button.disabled = false));
    }
    removeEventListener("beforeunload", leaving);
  }

  const leaving = (event) => event.preventDefault();

  document.addEventListener("submit", (event) => {
    if (event.target !== form || event.submitter?.hasAttribute("formaction") || !isLarge(input.files[0])) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    addEventListener("beforeunload", leaving);
    start(input.files[0]);
  }, true);
})();
