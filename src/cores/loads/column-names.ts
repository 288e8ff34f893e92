/** Names of columns in a table, made from those in a file: letters, digits and `_`, unique, and none that Postgres keeps. */

/** Postgres has these in every table; the others are columns of our own. */
const TAKEN = ['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid', 'embedding', 'words', 'row_number']
/** Postgres cuts names at 63 bytes; four are left to tell two apart. */
const NAME_BYTES = 59

export function columnNames(headers: readonly string[]): string[] {
  const taken = new Set(TAKEN)
  return headers.map((header) => {
    const plain = plainName(header)
    let name = plain
    for (let at = 2; taken.has(name); at++) name = `${plain}_${at}`
    taken.add(name)
    return name
  })
}

/** Neither quotes nor `$`: a name becomes part of statements, also of those between dollar quotes. */
function plainName(header: string): string {
  const plain = header
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_')
    .replaceAll(/^_+|_+$/g, '')
  const name = plain === '' || /^\p{N}/u.test(plain) ? `column_${plain}`.replace(/_$/, '') : plain
  // No character has less than a byte, so what is behind twice as many is cut off in any case.
  const letters = Array.from(name.slice(0, 2 * NAME_BYTES))
  while (Buffer.byteLength(letters.join('')) > NAME_BYTES) letters.pop()
  return letters.join('')
}
