/** PDF and DOCX files, made here byte by byte. */
import { crc32, deflateRawSync } from 'node:zlib'

type PdfOptions = { readonly filter?: string; readonly trailer?: string; readonly pages?: number }

/** One page, as often as it is asked for, with these drawing operators. */
export function makePdf(
  drawing: string | Uint8Array,
  { filter = '', trailer = '', pages = 1 }: PdfOptions = {},
): Buffer {
  const parts: Buffer[] = []
  const places: number[] = []
  let length = 0
  const add = (part: string | Uint8Array) => {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part)
    parts.push(bytes)
    length += bytes.length
  }
  const stream = typeof drawing === 'string' ? Buffer.from(drawing, 'latin1') : drawing
  const objects: (string | Uint8Array)[][] = [
    ['<< /Type /Catalog /Pages 2 0 R >>'],
    [`<< /Type /Pages /Kids [${'3 0 R '.repeat(pages)}] /Count ${pages} >>`],
    [
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    ],
    [`<< /Length ${stream.length} ${filter} >>\nstream\n`, stream, '\nendstream'],
    ['<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'],
  ]
  add('%PDF-1.4\n')
  for (const [at, object] of objects.entries()) {
    places.push(length)
    for (const part of [`${at + 1} 0 obj\n`, ...object, '\nendobj\n']) add(part)
  }
  const start = length
  const table = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('')
  add(`xref\n0 6\n0000000000 65535 f \n${table}trailer\n<< /Size 6 /Root 1 0 R ${trailer} >>\n`)
  add(`startxref\n${start}\n%%EOF`)
  return Buffer.concat(parts)
}

/** Deflated; `flags` of each entry as the format has them. */
export function makeZip(files: Readonly<Record<string, string | Uint8Array>>, flags = 0): Buffer {
  const [parts, directory]: [Buffer[], Buffer[]] = [[], []]
  let at = 0
  for (const [path, content] of Object.entries(files)) {
    const [name, data] = [Buffer.from(path), deflateRawSync(content)]
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(flags, 2)
    fields.writeUInt16LE(8, 4)
    fields.writeUInt32LE(crc32(content), 10)
    fields.writeUInt32LE(data.length, 14)
    fields.writeUInt32LE(Buffer.byteLength(content), 18)
    fields.writeUInt16LE(name.length, 22)
    const place = Buffer.alloc(14)
    place.writeUInt32LE(at, 10)
    parts.push(Buffer.from('PK\u0003\u0004'), fields, name, data)
    directory.push(Buffer.from('PK\u0001\u0002\u0014\u0000'), fields, place, name)
    at += 30 + name.length + data.length
  }
  const end = Buffer.alloc(18)
  end.writeUInt16LE(Object.keys(files).length, 4)
  end.writeUInt16LE(Object.keys(files).length, 6)
  end.writeUInt32LE(Buffer.concat(directory).length, 8)
  end.writeUInt32LE(at, 12)
  return Buffer.concat([...parts, ...directory, Buffer.from('PK\u0005\u0006'), end])
}

const STYLES = `<w:styles><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
  <w:style w:styleId="Titel"><w:name w:val="Title"/></w:style></w:styles>`

export const makeDocx = (body: string): Buffer =>
  makeZip({
    'word/document.xml': `<w:document><w:body>${body}</w:body></w:document>`,
    'word/styles.xml': STYLES,
  })
