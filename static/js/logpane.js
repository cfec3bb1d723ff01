// The log pane: follows the newest line until somebody scrolls up, and shows the line at the cursor.
const MOST = 3000; // lines kept in the page; the whole log is one link away

export class LogPane {
  constructor(root) {
    this.root = root;
    this.list = root.querySelector("[data-lines]");
    this.button = root.querySelector("[data-follow]");
    this.held = root.querySelector("[data-held]");
    this.follows = true;
    this.fresh = 0;
    this.toEnd();
    this.button?.addEventListener("click", () => this.follow(!this.follows));
    this.list.addEventListener("scroll", () => {
      const atEnd = this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight < 24;
      if (atEnd !== this.follows && !this.jumping) this.follow(atEnd);
      this.jumping = false;
    });
  }

  follow(on) {
    this.follows = on;
    if (on) {
      this.fresh = 0;
      this.toEnd();
    }
    this.label();
  }

  toEnd() {
    this.jumping = this.list.scrollTop !== this.list.scrollHeight - this.list.clientHeight;
    this.list.scrollTop = this.list.scrollHeight;
  }

  label() {
    if (!this.button) return;
    this.button.setAttribute("aria-pressed", String(this.follows));
    this.button.textContent = this.follows ? "Following" : this.fresh ? `Follow, ${this.fresh} new` : "Follow";
  }

  /** Appends the server's own rendering of new lines (escaped there). */
  append(event) {
    const before = this.list.childElementCount;
    this.list.insertAdjacentHTML("beforeend", event.html);
    this.fresh += this.list.childElementCount - before;
    while (this.list.childElementCount > MOST) this.list.firstElementChild.remove();
    this.root.querySelector("[data-log-empty]")?.remove();
    this.root.querySelector("[data-whole-log]")?.removeAttribute("hidden");
    for (const [name, value] of [["log-lines", event.lines], ["log-damaged", event.damaged]]) {
      const box = this.root.querySelector(`[data-${name}]`);
      if (box) box.textContent = Number(value).toLocaleString("en-US");
    }
    if (this.follows) this.toEnd();
    this.label();
  }

  /** Takes over the lines of a page that was loaded anew. */
  replace(page) {
    const list = page.querySelector("#log [data-lines]");
    if (!list) return;
    this.list.replaceChildren(...list.children);
    if (this.list.childElementCount) this.root.querySelector("[data-log-empty]")?.remove();
    if (this.follows) this.toEnd();
  }

  /** Marks the line at a byte; `jump` scrolls there and stops following. */
  hold(offset, jump) {
    this.list.querySelector(".hit")?.classList.remove("hit");
    const line = offset === null ? null : this.list.querySelector(`[data-offset="${offset}"]`);
    line?.classList.add("hit");
    if (this.held) this.held.hidden = !line;
    if (line && jump) {
      this.follow(false);
      this.jumping = true;
      this.list.scrollTop = line.offsetTop - this.list.offsetTop - this.list.clientHeight / 2;
    }
  }
}
