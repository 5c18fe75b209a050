"use strict";
(() => {
  const tip = document.getElementById("tip");
  const show = (text, event) => {
    tip.textContent = text;
    tip.hidden = false;
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    tip.style.left = left + "px";
    tip.style.top = Math.max(8, event.clientY - tip.offsetHeight - 10) + "px";
  };
  document.addEventListener("pointermove", (event) => {
    const text = event.target.getAttribute && event.target.getAttribute("data-tip");
    if (text) show(text, event); else tip.hidden = true;
  });

  const NS = "http://www.w3.org/2000/svg";
  const add = (parent, name, attributes, text) => {
    const element = document.createElementNS(NS, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    parent.appendChild(element);
    return element;
  };
  const words = { tx: "sends", ack: "acknowledges", rx: "receives", col: "hears a collision", on: "on" };

  for (const figure of document.querySelectorAll(".timeline")) {
    const svg = figure.querySelector("svg");
    const data = JSON.parse(figure.querySelector("script").textContent);
    const nodes = Number(svg.dataset.nodes);
    const full = [Number(svg.dataset.from), Number(svg.dataset.to)];
    const W = 1104, LEFT = 64, RIGHT = 1094, LANE = 34, TOP = 6;
    const H = TOP + nodes * LANE + 30;
    svg.setAttribute("viewBox", "0 0 " + W + " " + H);
    let view = full.slice();

    const draw = () => {
      svg.replaceChildren();
      const [from, to] = view;
      const at = (us) => LEFT + (us - from) / (to - from) * (RIGHT - LEFT);
      for (let n = 0; n < nodes; n++) {
        const y = TOP + n * LANE;
        add(svg, "rect", { class: "lane", x: LEFT, y: y + 3, width: RIGHT - LEFT, height: LANE - 8, rx: 3 });
        add(svg, "text", { class: "name", x: LEFT - 8, y: y + 21, "text-anchor": "end" }, "node " + n);
      }
      for (const [node, start, end, kind] of data) {
        if (end < from || start > to) continue;
        const left = Math.max(LEFT, at(start)), right = Math.min(RIGHT, at(end));
        const text = "node " + node + " " + words[kind] + ", " +
          (start / 1e6).toFixed(6) + " s, " + ((end - start) / 1e3).toFixed(2) + " ms";
        add(svg, "rect", {
          class: "k-" + kind, x: left, rx: 1.5, "data-tip": text,
          y: TOP + node * LANE + (kind === "on" ? LANE - 14 : 5),
          width: Math.max(0.8, right - left), height: kind === "on" ? 7 : LANE - 12,
        });
      }
      const span = (to - from) / 1e3, raw = span / 8, power = Math.pow(10, Math.floor(Math.log10(raw)));
      const step = [1, 2, 5, 10].map((d) => d * power).find((s) => s >= raw);
      const bottom = TOP + nodes * LANE;
      for (let ms = Math.ceil(from / 1e3 / step) * step; ms <= to / 1e3; ms += step) {
        const x = at(ms * 1e3);
        add(svg, "line", { class: "axis", x1: x, x2: x, y1: bottom, y2: bottom + 5 });
        add(svg, "text", { x, y: bottom + 18, "text-anchor": "middle" }, (ms / 1e3).toFixed(step < 1 ? 5 : 3) + " s");
      }
    };
    const clamp = (from, to) => {
      const span = Math.min(Math.max(to - from, 200), full[1] - full[0]);
      const start = Math.min(Math.max(from, full[0]), full[1] - span);
      view = [start, start + span];
      draw();
    };
    const zoom = (factor, centre) => {
      const [from, to] = view;
      clamp(centre - (centre - from) * factor, centre + (to - centre) * factor);
    };
    const instant = (event) => {
      const box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * W;
      return view[0] + (x - LEFT) / (RIGHT - LEFT) * (view[1] - view[0]);
    };
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, instant(event));
    }, { passive: false });
    svg.addEventListener("dblclick", () => clamp(full[0], full[1]));
    let grip = null;
    svg.addEventListener("pointerdown", (event) => { grip = instant(event); svg.setPointerCapture(event.pointerId); });
    svg.addEventListener("pointerup", () => { grip = null; });
    svg.addEventListener("pointermove", (event) => {
      if (grip === null) return;
      const shift = grip - instant(event);
      clamp(view[0] + shift, view[1] + shift);
    });
    svg.addEventListener("keydown", (event) => {
      const [from, to] = view, middle = (from + to) / 2, shift = (to - from) / 6;
      if (event.key === "+" || event.key === "=") zoom(0.7, middle);
      else if (event.key === "-") zoom(1.4, middle);
      else if (event.key === "ArrowLeft") clamp(from - shift, to - shift);
      else if (event.key === "ArrowRight") clamp(from + shift, to + shift);
      else if (event.key === "0") clamp(full[0], full[1]);
      else return;
      event.preventDefault();
    });
    draw();
  }
})();
