/**
 * Text of a file byte for byte, and its format: byte order mark, line endings, final newline. Editors and git change the
 * format of files that nobody edited, so it is ignored when comparing and kept when writing.
 */
import { createHash } from 'node:crypto'

/** One character per byte, so that bytes of any encoding come out as they went in. */
export const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
export const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')
/** UTF-8 text in that form. */
export const encoded = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

export const BOM = '\u00ef\u00bb\u00bf'

/** The one that most lines have. */
export function lineEndOf(text: string): '\r\n' | '\n' {
  let [lines, windows] = [0, 0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    lines++
    if (text[at - 1] === '\r') windows++
  }
  return windows * 2 > lines ? '\r\n' : '\n'
}

export const withoutBom = (text: string): string => (text.startsWith(BOM) ? text.slice(BOM.length) : text)
export const withLineFeeds = (text: string): string => text.replaceAll('\r\n', '\n')
const normalized = (text: string): string => withLineFeeds(withoutBom(text))

/** `text`, which has line feeds and a final newline, in the format of the file it replaces. */
export function withFormatOf(old: string, text: string): string {
  const whole = old === '' || old.endsWith('\n') ? text : text.replace(/\n$/, '')
  return (old.startsWith(BOM) ? BOM : '') + whole.replaceAll('\n', lineEndOf(old))
}

const sha256 = (text: string): string => createHash('sha256').update(text, 'latin1').digest('hex')

/** Whether the text has one of these digests, whatever its format. */
export function isOneOf(digests: ReadonlySet<string>, text: string): boolean {
  const bare = normalized(text)
  return digests.has(sha256(bare)) || (!bare.endsWith('\n') && digests.has(sha256(`${bare}\n`)))
}
