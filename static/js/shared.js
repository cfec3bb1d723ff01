// The shared copy: its charts, nothing else.
import { plots } from "./plots.js";

const section = document.getElementById("charts");
plots(section, JSON.parse(document.getElementById("compare-series").textContent));
