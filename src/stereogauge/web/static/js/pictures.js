// Pictures of the server. One of an unpublished submission is fetched with the visitor's token, for this page only.

import { asOwner, isOwn } from "./api.js";
import { h } from "./dom.js";
import { drawing } from "./drawing.js";

/** Let an image show the picture at an address; it hears "error" where that is refused. */
export async function show(image, address) {
  if (!isOwn(address)) {
    image.src = address;
    return;
  }
  try {
    const held = URL.createObjectURL(await (await asOwner(address)).blob());
    for (const end of ["load", "error"]) image.addEventListener(end, () => URL.revokeObjectURL(held), { once: true });
    image.src = held;
  } catch {
    image.dispatchEvent(new Event("error"));
  }
}

/** An image element of the picture at an address. */
export function image(address, properties) {
  const made = h("img", properties);
  // What is loaded lazily waits until it is scrolled to.
  if (properties.loading !== "lazy")
    drawing(new Promise((resolve) => ["load", "error"].map((end) => made.addEventListener(end, resolve))));
  show(made, address);
  return made;
}

/** What takes the place of an image that cannot be shown. */
export const noPicture = (event) => event.target.replaceWith(h("span.no-picture", "no picture"));
