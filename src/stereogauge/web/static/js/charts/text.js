// How wide texts stand in a diagram.

const pen = document.createElement("canvas").getContext("2d");

/** How wide a text stands in a diagram, px. */
export function textWidth(text) {
  pen.font = `11.5px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}
