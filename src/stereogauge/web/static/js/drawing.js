// When the page is drawn. Everything that is still under way is counted here: questions, charts, pictures and pauses
// before an action. When nothing is left, the content's `data-ready` holds the address that is on the screen.

const content = document.getElementById("content");
const line = document.getElementById("busy");
let running = 0;
let timer = 0;

function settle() {
  if (running === 0) content.dataset.ready = location.hash || "#";
}

function count(change) {
  const idle = running === 0;
  running += change;
  delete content.dataset.ready;
  if (!idle && running > 0) return;
  clearTimeout(timer);
  if (idle) {
    // Only what takes longer than a tenth of a second is announced.
    timer = setTimeout(() => line.classList.add("on"), 100);
    return;
  }
  line.classList.remove("on");
  // What follows an answer runs before the next task, so a page that goes on to ask is not called drawn.
  timer = setTimeout(settle);
}

/** The result of a promise, until which the page is not drawn. */
export async function drawing(promise) {
  count(1);
  try {
    return await promise;
  } finally {
    count(-1);
  }
}

/** A function that runs once, `pause` ms after its last call. */
export function calm(action, pause) {
  let timer = 0;
  let waiting = null;
  return (...given) => {
    clearTimeout(timer);
    if (!waiting) {
      waiting = Promise.withResolvers();
      drawing(waiting.promise.then((last) => action(...last)));
    }
    timer = setTimeout(() => {
      waiting.resolve(given);
      waiting = null;
    }, pause);
  };
}
