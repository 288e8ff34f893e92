/** Whatever a program says or throws, as a text. Never fails: a job must not end a worker by what it throws. */

/** In one line: with the cause that `fetch` hides. */
export function describeError(error: unknown): string {
  try {
    if (!(error instanceof Error)) return String(error)
    const { message }: { message: unknown } = error
    const because = causeOf(error)
    return because ? `${String(message)} (${because})` : String(message)
  } catch {
    return 'something that is no text'
  }
}

/** Of several addresses that were tried in vain the message is empty. */
function causeOf({ cause }: Error): string {
  if (!(cause instanceof Error)) return ''
  const { message, code }: { message: unknown; code?: unknown } = cause
  if (typeof message === 'string' && message !== '') return message
  return typeof code === 'string' ? code : ''
}

/** By characters, so that none is cut in half. */
export function cut(text: string, most: number): string {
  const short = text.slice(0, most)
  return /[\uD800-\uDBFF]$/.test(short) ? short.slice(0, -1) : short
}
