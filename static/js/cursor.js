// One cursor over several charts: the level under it in one is marked in all of them.

/** The level of a trace's point, wherever the figure keeps it for its words. */
const levelOf = (trace, i) => Number([trace.customdata?.[i] ?? trace.text?.[i]].flat()[0]);

/** What Plotly shall mark in a chart, one point an arm. */
function pointsAt(box, level) {
  return box.data.flatMap((trace, curveNumber) => {
    if (trace.hoverinfo === "skip" || !trace.hovertemplate) return [];
    const pointNumber = trace.x.findIndex((_, i) => levelOf(trace, i) === level);
    return pointNumber < 0 ? [] : [{ curveNumber, pointNumber }];
  });
}

export function shareCursor(boxes) {
  const drawn = boxes.filter((box) => box.classList.contains("js-plotly-plot"));
  let passing = false; // marking a point is told like a cursor over it
  const pass = (act) => {
    if (passing) return;
    passing = true;
    act();
    passing = false;
  };
  for (const box of drawn) {
    const others = drawn.filter((other) => other !== box);
    box.on("plotly_hover", ({ points: [point] }) =>
      pass(() => {
        const level = levelOf(point.data, point.pointNumber);
        for (const other of others) window.Plotly.Fx.hover(other, pointsAt(other, level));
      }),
    );
    box.on("plotly_unhover", () => pass(() => others.forEach((other) => window.Plotly.Fx.unhover(other))));
  }
}
