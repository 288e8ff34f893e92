/** Postgres stores neither NUL nor a lone surrogate in text or jsonb: a client that sends one gets a 400, not a 500. */

/** As JSON writes them; a backslash that is itself escaped does not count. */
const NOT_STORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f]\w\w)/

export function isStorable(value: unknown): boolean {
  try {
    return !NOT_STORABLE.test(JSON.stringify(value))
  } catch {
    // Nested too deeply to be written.
    return false
  }
}
