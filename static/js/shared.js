// The shared copy: its charts, nothing else.
import { plots } from "./plots.js";

plots(document.getElementById("charts"));
