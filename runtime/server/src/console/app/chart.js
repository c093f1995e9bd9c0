// Plots over time.

import { useEffect, useRef } from "./vendor/hooks.js";
import { time } from "./text.js";
import { html } from "./ui.js";

/** Fetches the library, the largest file, at the first plot. */
const library = () => import("./vendor/uPlot.js").then((library) => library.default);

const HEIGHT = 168;
const SMALL = 96;

const hour = (at) => time(at * 1000).slice(11, 16);
const day = (at) => time(at * 1000).slice(5, 10);

/** The values without a neighbour, which no line connects. */
function alone(values) {
  const is = (place) => values[place] != null;
  return [...values.keys()].filter((place) => is(place) && !is(place - 1) && !is(place + 1));
}

/** The colours of the current theme. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { text: of("--muted"), grid: of("--line"), lines: ["--plot-1", "--plot-2", "--plot-3"].map(of) };
}

/**
 * A plot of `series` ([name, values, bad?]) at `times` (milliseconds), with a text for screen readers.
 */
export function Plot({ label, summary, times, series, unit, small }) {
  const place = useRef();
  const stamp = JSON.stringify([times[0], times.length, series]);
  useEffect(() => {
    const element = place.current;
    let plot;
    let uPlot;
    let isOver = false;
    const draw = () => {
      if (!uPlot || isOver) return;
      plot?.destroy();
      const colors = palette();
      const axis = { stroke: colors.text, grid: { stroke: colors.grid, width: 1 }, ticks: { show: false }, font: "11px system-ui" };
      const options = {
        width: Math.max(element.clientWidth, 120),
        height: small ? SMALL : HEIGHT,
        padding: [8, 8, small ? 8 : 0, 0],
        cursor: { y: false, points: { size: 5 } },
        legend: { show: !small, live: true },
        scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
        axes: [
          { ...axis, size: 28, space: 60, show: !small, values: (_, ticks, __, ___, step) => ticks.map((at) => (step < 86_400 ? hour(at) : day(at))) },
          { ...axis, size: 52, values: (_, ticks) => ticks.map(unit), space: small ? 30 : 36 },
        ],
        series: [
          { label: "At", value: (_, at) => (at == null ? "–" : time(at * 1000).slice(0, -3)) },
          ...series.map(([name, , isBad], number) => {
            const color = isBad ? getComputedStyle(document.documentElement).getPropertyValue("--bad").trim() : colors.lines[number % 3];
            return { label: name, stroke: color, width: 1.5, fill: series.length < 3 ? `${color}22` : undefined, spanGaps: false, points: { size: 4, fill: color, filter: (plot, own, isShown) => (isShown ? null : alone(plot.data[own])) }, value: (_, value) => (value == null ? "–" : unit(value)) };
          }),
        ],
      };
      plot = new uPlot(options, [times.map((at) => at / 1000), ...series.map(([, values]) => values)], element);
    };
    library().then((loaded) => {
      uPlot = loaded;
      draw();
    });
    const resized = new ResizeObserver(() => plot?.setSize({ width: Math.max(element.clientWidth, 120), height: small ? SMALL : HEIGHT }));
    resized.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    addEventListener("convoke-theme", draw);
    return () => {
      isOver = true;
      resized.disconnect();
      dark.removeEventListener("change", draw);
      removeEventListener("convoke-theme", draw);
      plot?.destroy();
    };
  }, [stamp]);
  return html`<figure class="plot">
    <figcaption>${label}</figcaption>
    <div ref=${place} role="img" aria-label=${`${label}. ${summary}`}></div>
  </figure>`;
}
