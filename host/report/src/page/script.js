"use strict";
addEventListener("error", (event) => { document.documentElement.dataset.error = event.message; });
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
  // Units of a drawing are pixels, so that letters keep their size however narrow the page is.
  const widthOf = (figure) => Math.max(300, Math.min(1104, figure.clientWidth || 1104));
  const words = { tx: "sends", ack: "acknowledges", rx: "receives", col: "hears a collision", on: "on",
    busy: "finds the channel busy", smp: "samples the channel", ntc: "samples the channel and notices something",
    str: "strobes", lost: "strobes and is not heard", bst: "sends a burst", fr: "reads its flash",
    seg: "segment", ret: "retransmission", pak: "segment without data", gone: "segment that did not arrive",
    wnd: "", que: "packet waits", src: "sends", frm: "sends a frame",
    fw: "writes its flash", fe: "erases a sector of its flash" };
  // Kinds that have rows of their own, or are behind others: how far down in the lane, and how high.
  const rows = { bst: [3, 13], str: [18, 19], lost: [18, 19], smp: [20, 15], ntc: [20, 15], fr: [39, 8],
    fw: [39, 8], fe: [39, 8] };

  // Lanes of radio activity: those in view above, all of it in a strip below. `drawn` and `view` of the
  // drawing's data say what has been drawn; `#ID=FROM-TO` in the address asks for a view, in seconds.
  for (const figure of document.querySelectorAll(".timeline")) {
    const svg = figure.querySelector("svg");
    const radios = Number(svg.dataset.nodes), more = figure.querySelector("script.lanes");
    const [names, items] = more ? JSON.parse(more.textContent) : [[], []];
    const data = JSON.parse(figure.querySelector("script").textContent).concat(items);
    const nodes = radios + names.length;
    const nameOf = (n) => n < radios ? "node " + n : names[n - radios];
    const widest = Math.max(1, ...items.map((item) => item[3] === "wnd" ? item[4] : 0));
    let followed = null;
    const full = [Number(svg.dataset.from), Number(svg.dataset.to)];
    const W = widthOf(figure), LEFT = 64, RIGHT = W - 30, TOP = 6, THIN = 3;
    const tall = data.some((item) => item[3] in rows);
    const LANE = tall ? 54 : nodes > 6 ? 24 : 34, BOTTOM = TOP + nodes * LANE, STRIP = BOTTOM + 32;
    const H = STRIP + nodes * THIN + 8;
    svg.setAttribute("viewBox", "0 0 " + W + " " + H);
    const lanes = add(svg, "g", {}), strip = add(svg, "g", { class: "strip" });
    let view = full.slice();
    const row = (kind) => !tall ? (kind === "on" ? [LANE * 0.6, LANE * 0.2] : [5, LANE - 12]) :
      rows[kind] || (kind === "on" ? [32, 4] : [20, 15]);
    const counted = (kind, count) => count === undefined || count === null ? "" : kind === "wnd" ? count + " octets" : kind === "bst" ? " of " + count + " frames" :
      kind === "src" ? (count === 1 ? " a burst" : " " + count + " bursts") :
      count === 1 ? ", the frame once on the air" : ", the frame " + count + " times on the air";

    // Rectangles of data in [from, to], without those that others of their kind cover to the pixel.
    const rectangles = (from, to, place) => {
      const at = (us) => LEFT + (us - from) / (to - from) * (RIGHT - LEFT);
      const covered = {};
      for (const item of data) {
        const [node, start, end, kind] = item;
        if (end < from || start > to) continue;
        const left = Math.max(LEFT, at(start)), right = Math.max(left + 0.8, Math.min(RIGHT, at(end)));
        const key = kind + node;
        // What can be followed is never left out where it can be seen.
        if (item[5] && item[5] === followed) { place(item, left, right - left); continue; }
        if (right <= covered[key]) continue;
        covered[key] = right;
        place(item, left, right - left);
      }
    };
    const draw = () => {
      lanes.replaceChildren();
      const [from, to] = view;
      const at = (us) => LEFT + (us - from) / (to - from) * (RIGHT - LEFT);
      for (let n = 0; n < nodes; n++) {
        const y = TOP + n * LANE;
        add(lanes, "rect", { class: "lane", x: LEFT, y: y + 3, width: RIGHT - LEFT, height: LANE - 8, rx: 3 });
        add(lanes, "text", { class: "name", x: LEFT - 8, y: y + LANE / 2 + 4, "text-anchor": "end" }, nameOf(n));
      }
      let drawn = 0;
      rectangles(from, to, ([node, start, end, kind, count, packet], x, width) => {
        const text = nameOf(node) + " " + words[kind] + (packet ? ", packet " + packet : "") + counted(kind, count) +
          ", " + (start / 1e6).toFixed(6) + " s, " + ((end - start) / 1e3).toFixed(2) + " ms";
        const [down, whole] = row(kind), height = kind === "wnd" ? Math.max(1, whole * count / widest) : whole;
        const y = TOP + node * LANE + down + whole - height;
        const state = followed === null || !packet ? "" : packet === followed ? " followed" : " other";
        const more = packet ? { "data-packet": packet } : {};
        add(lanes, "rect", { class: "k-" + kind + state, x, y, width, height, rx: 1.5, "data-tip": text, ...more });
        if (kind === "bst" && width > 64) add(lanes, "text", { class: "count", x: x + 4, y: y + height - 3 },
          count + " frames");
        drawn++;
      });
      const span = (to - from) / 1e3, raw = span * 140 / W, power = Math.pow(10, Math.floor(Math.log10(raw)));
      const step = [1, 2, 5, 10].map((d) => d * power).find((s) => s >= raw);
      for (let ms = Math.ceil(from / 1e3 / step) * step; ms <= to / 1e3; ms += step) {
        const x = at(ms * 1e3);
        add(lanes, "line", { class: "axis", x1: x, x2: x, y1: BOTTOM, y2: BOTTOM + 5 });
        add(lanes, "text", { x, y: BOTTOM + 18, "text-anchor": "middle" }, (ms / 1e3).toFixed(step < 1 ? 5 : 3) + " s");
      }
      svg.dataset.drawn = drawn;
      svg.dataset.view = Math.round(from) + "-" + Math.round(to);
      showView();
    };
    add(strip, "rect", { class: "lane", x: LEFT, y: STRIP, width: RIGHT - LEFT, height: nodes * THIN });
    rectangles(full[0], full[1], ([node, , , kind], x, width) => {
      add(strip, "rect", { class: "k-" + kind, x, y: STRIP + node * THIN, width, height: THIN - 0.5 });
    });
    const windowed = add(strip, "rect", { class: "window", y: STRIP - 2, height: nodes * THIN + 4 });
    const showView = () => {
      const share = (us) => (us - full[0]) / (full[1] - full[0]);
      windowed.setAttribute("x", LEFT + share(view[0]) * (RIGHT - LEFT));
      windowed.setAttribute("width", Math.max(2, (share(view[1]) - share(view[0])) * (RIGHT - LEFT)));
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
    const point = (event) => {
      const box = svg.getBoundingClientRect();
      return [(event.clientX - box.left) / box.width * W, (event.clientY - box.top) / box.height * H];
    };
    const instant = (event, [from, to]) =>
      from + (point(event)[0] - LEFT) / (RIGHT - LEFT) * (to - from);
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, instant(event, view));
    }, { passive: false });
    svg.addEventListener("dblclick", () => clamp(full[0], full[1]));
    let grip = null, overview = false;
    const centreOn = (us) => clamp(us - (view[1] - view[0]) / 2, us + (view[1] - view[0]) / 2);
    svg.addEventListener("pointerdown", (event) => {
      overview = point(event)[1] >= STRIP - 4;
      grip = instant(event, view);
      if (overview) centreOn(instant(event, full));
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointerup", () => { grip = null; });
    // The pointer is captured, so that the event's target is the drawing: what is under it is asked for.
    svg.addEventListener("click", (event) => {
      const under = document.elementsFromPoint(event.clientX, event.clientY);
      const hit = under.map((element) => element.getAttribute("data-packet")).find((packet) => packet);
      const next = hit ? Number(hit) : null;
      if (next === followed) return;
      followed = next;
      svg.dataset.followed = followed === null ? "" : followed;
      draw();
    });
    svg.addEventListener("pointermove", (event) => {
      if (grip === null) return;
      if (overview) return centreOn(instant(event, full));
      const shift = grip - instant(event, view);
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
    const follow = () => {
      const asked = /^#([\w-]+)=([\d.]+)-([\d.]+)$/.exec(location.hash);
      if (!asked || asked[1] !== figure.id) return;
      clamp(Number(asked[2]) * 1e6, Number(asked[3]) * 1e6);
      figure.scrollIntoView();
    };
    addEventListener("hashchange", follow);
    draw();
    follow();
  }

  // The nodes at their places, at the instant that the slider says; `drawn` and `at` of the drawing's
  // data say how many lines there are, and of when; `loaded`, how the page came here. `#ways=AT` in the address asks for the last instant
  // until then, in seconds.
  for (const figure of document.querySelectorAll(".map")) {
    const svg = figure.querySelector("svg"), slider = figure.querySelector("input");
    const { places, links, trees } = JSON.parse(figure.querySelector("script").textContent);
    const refresh = Number(figure.dataset.refreshS || 0);
    const W = widthOf(figure), EDGE = W < 600 ? 36 : 60, range = (values) => [Math.min(...values), Math.max(...values)];
    const [west, east] = range(places.map((p) => p[0])), [south, north] = range(places.map((p) => p[1]));
    const scale = Math.min((W - 2 * EDGE) / Math.max(east - west, 1e-9), 560 / Math.max(north - south, 1e-9));
    const middle = (W - (east - west) * scale) / 2;
    // A long corridor gets a fifth of its length as its width, to tell nodes apart.
    const height = (north - south) * scale, widest = Math.min(3, (W - 2 * EDGE) / 5 / Math.max(height, 1));
    const stretch = height < 1 ? 1 : Math.max(1, widest);
    const x = (n) => middle + (places[n][0] - west) * scale;
    const y = (n) => EDGE + (north - places[n][1]) * scale * stretch;
    svg.setAttribute("viewBox", "0 0 " + W + " " + (2 * EDGE + height * stretch));
    if (stretch > 1) figure.querySelector("figcaption").textContent += ", up and down " + stretch.toFixed(1) +
      " times as far apart as they are";
    const most = Math.max(1e-9, ...trees.map(([, nodes]) => Math.max(...nodes.map((node) => node[2]))));
    const small = places.length <= 100;
    // A third of the way to the nearest node, as half of the nodes have it.
    const apart = (n) => Math.min(...places.map((_, m) => m === n ? 99 : Math.hypot(x(m) - x(n), y(m) - y(n))));
    const gaps = small ? places.map((_, n) => apart(n)).sort((a, b) => a - b) : [];
    const room = small ? gaps[gaps.length >> 1] / 3 : 260 / Math.sqrt(places.length);
    const R = Math.max(4, Math.min(13, room));
    // A line that would lead through another node, or under its rim, goes around it.
    const line = (from, to) => {
      const [dx, dy] = [x(to) - x(from), y(to) - y(from)], length = Math.hypot(dx, dy) || 1;
      const hit = small && places.some((_, n) => {
        const along = ((x(n) - x(from)) * dx + (y(n) - y(from)) * dy) / length;
        const off = Math.abs((x(n) - x(from)) * dy - (y(n) - y(from)) * dx) / length;
        return n !== from && n !== to && along > 0 && along < length && off < 1.2 * R;
      });
      const bend = hit ? Math.min(5 * R / length, 0.4) : 0;
      const middle = [(x(from) + x(to)) / 2 + bend * dy, (y(from) + y(to)) / 2 - bend * dx];
      return "M" + x(from) + " " + y(from) + "Q" + middle.join(" ") + " " + x(to) + " " + y(to);
    };
    const drawAt = (index) => {
      const [at, nodes] = trees[index];
      svg.replaceChildren();
      for (const [a, b] of links) add(svg, "line", { class: "link", x1: x(a), y1: y(a), x2: x(b), y2: y(b) });
      let drawn = 0;
      nodes.forEach(([parent], n) => {
        if (parent === null) return;
        add(svg, "path", { class: "way", d: line(n, parent) });
        drawn++;
      });
      const labels = [];
      nodes.forEach(([parent, hops, load], n) => {
        const far = hops === null ? "without a way" : hops + (hops === 1 ? " hop" : " hops");
        const way = hops === 0 ? "the root" : far + (parent === null ? "" : " by node " + parent);
        const text = "node " + n + ", " + places[n][2] + ", " + way + ", " + load.toFixed(1) + " frames/s";
        const r = hops === 0 ? R * 1.4 : places[n][2] === "leaf" ? R * 0.7 : R;
        const node = { cx: x(n), cy: y(n), r };
        add(svg, "circle", { class: "card", ...node });
        const state = hops !== null ? "" : places[n][2] === "outside" ? " outside" : " lost";
        add(svg, "circle", { class: "place" + state, ...node,
          "fill-opacity": Math.sqrt(load / most).toFixed(3), "data-tip": text });
        const label = n + (hops === null ? "" : " · " + hops);
        if (small) labels.push([{ x: x(n) + R + 2, y: y(n) - R, style: R < 11 ? "font-size:10px" : "" }, label]);
      });
      labels.forEach(([at, label]) => add(svg, "text", at, label));
      svg.dataset.drawn = drawn;
      svg.dataset.at = at;
      svg.dataset.loaded = performance.getEntriesByType("navigation")[0]?.type;
      const followed = !refresh ? "" : index === trees.length - 1 ? " · now" : " · the right end is now";
      figure.querySelector("output").textContent = " at " + at.toFixed(1) + " s, at most " + most.toFixed(1) +
        " frames/s" + followed;
    };
    slider.addEventListener("input", () => drawAt(Number(slider.value)));
    const seek = () => {
      const asked = /^#ways=([\d.]+)$/.exec(location.hash);
      if (asked) slider.value = Math.max(0, trees.findLastIndex(([at]) => at <= Number(asked[1])));
      drawAt(Number(slider.value));
    };
    addEventListener("hashchange", seek);
    seek();
    // The page is written anew all the time. Whoever looks at the past is left there.
    const follow = () => { if (slider.value === slider.max) location.reload(); };
    if (refresh) setInterval(follow, 1000 * refresh);
  }
  document.documentElement.dataset.ready = "yes";
})();
