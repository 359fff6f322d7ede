// Whether a photograph of a page can be read: how sharp its edges are, and how bright its paper is.

const LONG_SIDE = 1024;
const TILE = 32;
const LEAST_CONTRAST = 100; // variance of brightness of a tile with something on it
const LEAST_TILES = 4;
// Sharp pages of the samples, drawn and photographed, have 0.66 to 3.2. Out of focus by a thousandth of their long side
// they have at most 0.32, and the recogniser begins to misread small print.
const SHARP = 0.4;
const BRIGHT = 90; // of 255: paper in a lit room has 200

/** The brightness of each pixel of a picture, scaled to `LONG_SIDE`. */
function brightnessOf(picture) {
  const scale = Math.min(1, LONG_SIDE / Math.max(picture.width, picture.height));
  const [width, height] = [picture.width, picture.height].map((side) => Math.max(3, Math.round(side * scale)));
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  const values = new Float32Array(width * height);
  for (let index = 0; index < values.length; index += 1) {
    const at = 4 * index;
    values[index] = 0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2];
  }
  return { values, width, height };
}

function variance(sum, sumOfSquares, count) {
  return sumOfSquares / count - (sum / count) ** 2;
}

/** The mean brightness of a tile, its variance, and the variance of its Laplacian. */
function measureTile({ values, width }, left, top) {
  let [sum, squares, edgeSum, edgeSquares] = [0, 0, 0, 0];
  for (let y = top; y < top + TILE; y += 1) {
    for (let x = left; x < left + TILE; x += 1) {
      const at = y * width + x;
      const value = values[at];
      const edge = values[at - 1] + values[at + 1] + values[at - width] + values[at + width] - 4 * value;
      sum += value;
      squares += value * value;
      edgeSum += edge;
      edgeSquares += edge * edge;
    }
  }
  const count = TILE * TILE;
  return { mean: sum / count, contrast: variance(sum, squares, count), edges: variance(edgeSum, edgeSquares, count) };
}

function quantile(values, share) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
}

/** Sharpness (edges relative to contrast, null where there is nothing to see) and brightness of the paper (0 to 255). */
export function measure(picture) {
  const image = brightnessOf(picture);
  const tiles = [];
  for (let top = 1; top + TILE < image.height; top += TILE) {
    for (let left = 1; left + TILE < image.width; left += TILE) tiles.push(measureTile(image, left, top));
  }
  const written = tiles.filter(({ contrast }) => contrast > LEAST_CONTRAST).map(({ contrast, edges }) => edges / contrast);
  return {
    sharpness: written.length < LEAST_TILES ? null : quantile(written, 0.75),
    brightness: quantile(tiles.map(({ mean }) => mean), 0.9),
  };
}

/** "dark", "blurred" or "good". */
export function judge(picture) {
  const { sharpness, brightness } = measure(picture);
  if (brightness < BRIGHT) return "dark";
  return sharpness !== null && sharpness < SHARP ? "blurred" : "good";
}
