// A PDF of photographs: each page is a JPEG as it is, so that nothing is decoded or written anew.

const LONG_SIDE_PT = 842; // of A4, as for pictures that are uploaded alone

const number = (value) => String(Math.round(value * 100) / 100);

/** The objects of a page: page, content, picture. first: the number of the first of them. */
function objectsOf({ jpeg, width, height, rotation }, first) {
  const scale = LONG_SIDE_PT / Math.max(width, height);
  const [pageWidth, pageHeight] = [number(width * scale), number(height * scale)];
  const content = `q ${pageWidth} 0 0 ${pageHeight} 0 0 cm /Photo Do Q`;
  return [
    [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${pageWidth} ${pageHeight}] /Rotate ${rotation}`,
      ` /Contents ${first + 1} 0 R /Resources << /XObject << /Photo ${first + 2} 0 R >> >> >>`,
    ],
    [`<< /Length ${content.length} >>\nstream\n${content}\nendstream`],
    [
      `<< /Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace /DeviceRGB`,
      ` /BitsPerComponent 8 /Filter /DCTDecode /Length ${jpeg.size} >>\nstream\n`,
      jpeg,
      "\nendstream",
    ],
  ];
}

/** The PDF of pages `{jpeg, width, height, rotation}`, as a Blob; the same pages give the same bytes. */
export function pdfOf(pages) {
  const kids = pages.map((_, index) => `${3 + 3 * index} 0 R`).join(" ");
  const objects = [
    ["<< /Type /Catalog /Pages 2 0 R >>"],
    [`<< /Type /Pages /Count ${pages.length} /Kids [${kids}] >>`],
    ...pages.flatMap((page, index) => objectsOf(page, 3 + 3 * index)),
  ];
  const parts = [];
  let size = 0;
  const add = (part) => {
    parts.push(part);
    size += part.size ?? part.length; // texts are ASCII
  };
  add("%PDF-1.4\n");
  const places = objects.map((object, index) => {
    const place = size;
    add(`${index + 1} 0 obj\n`);
    object.forEach(add);
    add("\nendobj\n");
    return `${String(place).padStart(10, "0")} 00000 n \n`;
  });
  const table = size;
  add(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join("")}`);
  add(`trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`);
  return new Blob(parts, { type: "application/pdf" });
}
