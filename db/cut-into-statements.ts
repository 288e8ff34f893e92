/** Tells where one statement ends and the next begins in what a driver writes to a Postgres server. */
const QUERY = 'Q'.charCodeAt(0)
const SYNC = 'S'.charCodeAt(0)

/**
 * A busy driver writes several statements at once. Each ends with a Query or a Sync message: a byte for its kind, four
 * for its length without that byte. The start-up packet alone has no kind, begins with a zero, and comes by itself.
 */
export function cutIntoStatements(write: Uint8Array): Uint8Array[] {
  if (write[0] === 0) return [write]
  const view = new DataView(write.buffer, write.byteOffset, write.byteLength)
  const statements: Uint8Array[] = []
  let start = 0
  for (let at = 0; at + 5 <= write.length;) {
    const end = at + 1 + view.getUint32(at + 1)
    if (write[at] === QUERY || write[at] === SYNC) {
      statements.push(write.subarray(start, end))
      start = end
    }
    at = end
  }
  if (start < write.length) statements.push(write.subarray(start))
  return statements
}
