// Reading time, separate from pauses. Time with a hidden page or without input does not count as reading.

// A pause begins after this long without mouse, finger or key: longer than a look at a difficult film, shorter than a
// telephone call; by judgement.
const STILL_MS = 60_000;

// The count so far is sent this often, so that a crash loses little of it.
const SEND_MS = 15_000;

// Longest time per report that the server accepts; a longer pause is sent in parts.
const LARGEST_MS = 3_600_000;

export class Timer {
  /** `send(active_ms, paused_ms)` takes what has been counted since the last call. */
  constructor(send) {
    this.send = send;
    this.active = this.paused = 0;
    const touched = () => { this.count(); this.touched = performance.now(); };
    this.signs = ["pointermove", "pointerdown", "keydown", "wheel"];
    for (const sign of this.signs) addEventListener(sign, touched, { passive: true, capture: true });
    this.turn = () => {
      this.count(!document.hidden);
      if (document.hidden) this.tell();
      else this.touched = performance.now(); // the reader is back at the page
    };
    document.addEventListener("visibilitychange", this.turn);
    this.touched = this.counted = performance.now();
    this.beat = setInterval(() => this.tell(), SEND_MS);
    this.stop = () => {
      clearInterval(this.beat);
      document.removeEventListener("visibilitychange", this.turn);
      for (const sign of this.signs) removeEventListener(sign, touched, { capture: true });
    };
  }

  /** Adds the time since the last count to reading or to pause. */
  count(wasHidden = document.hidden) {
    const now = performance.now(), passed = now - this.counted;
    if (wasHidden || now - this.touched > STILL_MS) this.paused += passed;
    else this.active += passed;
    this.counted = now;
  }

  /** Sends what has been counted. */
  tell() {
    this.count();
    while (this.active + this.paused >= 1) {
      const [active, paused] = [this.active, this.paused].map((ms) => Math.min(Math.round(ms), LARGEST_MS));
      this.active -= active;
      this.paused -= paused;
      this.send(active, paused);
    }
  }

  /** The last count, after which nothing more is counted. */
  end() {
    this.tell();
    this.stop();
  }
}
